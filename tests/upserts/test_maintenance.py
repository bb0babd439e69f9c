"""Maintenance commands keep the index files of a table with a primary key."""

from __future__ import annotations

import pytest
from tests.upserts.tables import KeyTable

from indextables.commands.merge_splits import MergeRequest, run_merge
from indextables.commands.repair import run_repair
from indextables.commands.restore import run_restore
from indextables.commands.truncate_time_travel import run_truncate
from indextables.errors import InvalidError
from indextables.log import open_log
from indextables.log.protocol import DELETION_VECTORS, PRIMARY_KEY
from indextables.read.table import OpenTable
from indextables.runtime.steps import finish
from indextables.sql.local import LocalContext
from indextables.storage import open_store


def row(key: int, text: str) -> tuple:
    return (0, key, text, None, 1, None)


@pytest.fixture
def table(tmp_path):
    made = KeyTable(open_log(open_store(str(tmp_path / "t"))), {"primary-key": "id"})
    made.upsert([row(key, "a") for key in range(4)])
    made.upsert([row(1, "b"), row(9, "b")])
    return made


def opened(table) -> OpenTable:
    here = table.log.snapshot()
    return OpenTable(table.log, here, table.spec(here).settings)


def reopened(table) -> KeyTable:
    """Open the table as another process would."""
    return KeyTable(open_log(open_store(table.log.store.url)), table.options)


def texts(table) -> dict[int, str]:
    rows = table.rows()
    assert len(rows) == len({r[1] for r in rows})
    return {r[1]: r[2] for r in rows}


def test_keys_are_known_when_the_table_is_read_from_a_checkpoint(table):
    table.log.checkpoint(compact="test")
    again = reopened(table)
    assert again.log.snapshot().hash_indexes == table.log.snapshot().hash_indexes
    again.upsert([row(9, "c"), row(0, "c")])
    assert texts(again) == {0: "c", 1: "b", 2: "a", 3: "a", 9: "c"}
    again.check_index(again.log.snapshot())


def test_keys_are_known_when_older_versions_were_truncated(table):
    run_truncate(opened(table), dry_run=False)
    again = reopened(table)
    again.upsert([row(9, "c")])
    assert texts(again) == {0: "a", 1: "b", 2: "a", 3: "a", 9: "c"}


def test_keys_are_those_of_the_version_when_it_is_restored(table):
    table.upsert([row(7, "x")], overwrite="all")
    run_restore(opened(table), 2)
    assert table.log.snapshot().hash_indexes == table.log.snapshot(2).hash_indexes
    table.upsert([row(9, "c"), row(7, "y")])
    assert texts(table) == {0: "a", 1: "b", 2: "a", 3: "a", 7: "y", 9: "c"}
    table.check_index(table.log.snapshot())


def test_a_restore_is_refused_when_index_files_are_gone(table):
    table.upsert([row(7, "x")], overwrite="all")
    table.log.store.delete([index.file for index in table.log.snapshot(2).hash_indexes])
    with pytest.raises(InvalidError, match="RESTORE_FILES_MISSING"):
        run_restore(opened(table), 2)


def test_buckets_stay_pure_and_keys_known_when_splits_are_merged(table):
    finish(run_merge(lambda: opened(table), MergeRequest()), LocalContext())
    here = table.log.snapshot()
    assert here.num_files == 1
    table.check_index(here)
    # the primary key needs its feature; no deleted rows are left, so their feature is dropped
    assert here.protocol.writer_features & {PRIMARY_KEY, DELETION_VECTORS} == {PRIMARY_KEY}
    table.upsert([row(1, "c")])
    assert texts(table)[1] == "c"


def test_keys_are_known_when_the_log_was_repaired(table, tmp_path):
    source = f"{table.log.store.url}/_transaction_log"
    target = f"{tmp_path / 'copy'}/_transaction_log"
    answer = run_repair(source, target, LocalContext())
    assert answer[0]["status"] == "SUCCESS"
    copied = open_log(open_store(str(tmp_path / "copy"))).snapshot()
    assert copied.hash_indexes == table.log.snapshot().hash_indexes
