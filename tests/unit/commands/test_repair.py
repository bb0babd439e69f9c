from __future__ import annotations

import pytest

import indextables
from indextables.commands.repair import run_repair
from indextables.log import open_log
from indextables.log.actions import Txn
from indextables.log.transaction import Operation, Transaction
from indextables.sql.local import LocalContext
from indextables.storage import open_store


@pytest.fixture
def table(make):
    return make(())


@pytest.fixture
def repaired(table, tmp_path):
    """Repair the log of the table at another location; return its newest snapshot."""

    def repair():
        source, target = f"{table.path}/_transaction_log", f"{tmp_path}/copy/_transaction_log"
        (row,) = run_repair(source, target, table.door)
        assert row["status"] == "SUCCESS"
        return open_log(open_store(f"{tmp_path}/copy")).snapshot()

    return repair


def test_a_repaired_log_without_splits_can_be_read(table, repaired):
    assert repaired().num_files == 0


def test_a_repaired_log_whose_splits_are_all_lost_can_be_read(table, repaired):
    table.commit(table.put("a"))
    for path in table.paths():
        table.log.store.delete([path])
    assert repaired().num_files == 0


def test_a_repaired_log_knows_the_batches_of_streaming_queries(table, repaired):
    change = Transaction(Operation.APPEND, 0, (table.put("a"),), txn=Txn("query", 7))
    table.log.commit(change)
    assert repaired().txns == {"query": 7}


def test_splits_of_tables_inside_the_folder_are_not_taken(tmp_path):
    door = LocalContext({})
    for name in ("events", "deep/er"):
        indextables.write({"id": [1]}, f"{tmp_path}/{name}")
    (row,) = run_repair(f"{tmp_path}/_transaction_log", None, door)
    assert row["status"] == f"ERROR: there is no readable split at `{tmp_path}/_transaction_log`"
    assert not (tmp_path / "_transaction_log").exists()
