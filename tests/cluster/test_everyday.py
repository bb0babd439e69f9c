"""Everyday statements on a cluster of three hosts with a shared folder."""

from __future__ import annotations

import pytest
from tests.cluster import work

pytestmark = pytest.mark.spark
ROWS = work.ROWS


@pytest.fixture(scope="module")
def table(application, tmp_path_factory):
    """A table, and the same rows in Parquet."""
    folder = tmp_path_factory.mktemp("shared")
    ours, theirs = str(folder / "table"), str(folder / "parquet")
    application.run(work.save, ours, 0, ROWS)
    application.run(work.write_parquet, theirs, 0, ROWS)
    return ours, theirs


def test_every_host_has_an_executor(application):
    assert application.run(work.executor_hosts) == ["127.0.0.2", "127.0.0.3", "127.0.0.4"]


def test_answers_are_those_of_parquet(application, table):
    assert application.run(work.same_as_parquet, *table) == []


def test_changes_of_rows_are_those_of_a_dictionary(application, table_path):
    application.run(work.save, table_path, 0, 300)
    expected = set(range(300))
    application.run(work.sql, f"DELETE FROM indextables.`{table_path}` WHERE hash(id) % 3 = 0")
    gone = {row["id"] for row in application.run(work.sql, _DELETED)}
    assert set(application.run(work.ids, table_path)) == expected - gone
    application.run(
        work.sql,
        f"UPDATE indextables.`{table_path}` SET id = id + 1000 WHERE pmod(hash(id), 5) = 1",
    )
    moved = {row["id"] for row in application.run(work.sql, _MOVED)} - gone
    expected = (expected - gone - moved) | {i + 1000 for i in moved}
    assert set(application.run(work.ids, table_path)) == expected
    application.run(work.sql, _MERGE.format(t=table_path))
    expected = {i for i in expected if i >= 100} | set(range(40, 60))
    assert application.run(work.ids, table_path) == sorted(expected)


_DELETED = "SELECT id FROM range(300) WHERE hash(id) % 3 = 0"
_MOVED = "SELECT id FROM range(300) WHERE pmod(hash(id), 5) = 1"
_MERGE = """MERGE INTO indextables.`{t}` t USING (SELECT id FROM range(0, 100)) s ON t.id = s.id
WHEN MATCHED AND NOT (t.id BETWEEN 40 AND 59) THEN DELETE
WHEN NOT MATCHED AND s.id BETWEEN 40 AND 59 THEN INSERT (id) VALUES (s.id)"""


def test_commands_run_on_the_executors(application, table_path):
    for first in (0, 100, 200):
        application.run(work.save, table_path, first, first + 100)
    (merged,) = application.run(work.sql, f"MERGE SPLITS '{table_path}'")
    assert merged["metrics"]["status"] == "success"
    assert application.run(work.ids, table_path) == list(range(300))
    environment = application.run(work.sql, "DESCRIBE INDEXTABLES ENVIRONMENT")
    workers = {row["property_value"] for row in environment
               if row["role"] == "worker" and row["property_name"] == "process.id"}  # fmt: skip
    drivers = {row["property_value"] for row in environment
               if row["role"] == "driver" and row["property_name"] == "process.id"}  # fmt: skip
    assert len(workers) == 3
    assert not workers & drivers
