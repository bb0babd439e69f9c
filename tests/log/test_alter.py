"""ALTER TABLE on the log, without Spark: what is committed and what is undone."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError
from indextables.log import open_log
from indextables.save.alter import alter_table, finish_alter_table, undo_alter_table
from indextables.storage import open_store

COLUMN = {"column": [], "add": {"name": "n", "type": "long", "nullable": True}}


@pytest.fixture
def log(tmp_path):
    """The log of a table with two rows."""
    path = str(tmp_path / "table")
    indextables.write(pa.table({"id": [1, 2], "who": ["a", "b"]}), path)
    return open_log(open_store(path))


def append(log, **columns):
    indextables.write(pa.table(columns), log.store.url, mode="append")


def test_changes_of_a_statement_are_one_version(log):
    before = log.snapshot()
    done = alter_table(log, before, [COLUMN, {"set": "a", "value": "b"}])
    after = log.snapshot()
    assert (done.version, after.version) == (before.version + 1, before.version + 1)
    assert (after.schema.names, after.metadata.configuration["a"]) == (["id", "who", "n"], "b")


def test_an_undone_change_leaves_the_metadata_as_it_was(log):
    before = log.snapshot()
    undo_alter_table(log, alter_table(log, before, [COLUMN]).version)
    assert log.snapshot().metadata == before.metadata


def test_values_of_an_undone_column_do_not_come_back(log):
    done = alter_table(log, log.snapshot(), [COLUMN])
    append(log, id=[3], who=["c"], n=[7])
    undo_alter_table(log, done.version)
    assert log.snapshot().schema.names == ["id", "who"]
    with pytest.raises(IndexTablesError, match="COLUMN_DROPPED"):
        alter_table(log, log.snapshot(), [COLUMN])


def test_a_rename_drops_the_old_column_only_after_the_update_alone(log):
    done = alter_table(log, log.snapshot(), [{"column": ["who"], "rename": "whom"}])
    assert (done.fills, log.snapshot().schema.names) == (["`whom` = `who`"], ["id", "who", "whom"])
    append(log, id=[3], who=["c"])
    append(log, id=[4], who=["d"])
    assert finish_alter_table(log, done.then, done.version) is None
    assert finish_alter_table(log, done.then, log.snapshot().version - 1) is not None
    assert log.snapshot().schema.names == ["id", "whom"]


def test_a_default_that_only_spark_computes_is_not_left_out(log):
    alter_table(log, log.snapshot(), [{**COLUMN, "add": {**COLUMN["add"], "default": "1 + 1"}}])
    with pytest.raises(IndexTablesError, match="DEFAULT_UNCOMPUTED"):
        append(log, id=[3], who=["c"])
    append(log, id=[3], who=["c"], n=[2])
    assert log.snapshot().num_records == 3
