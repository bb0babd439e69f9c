from __future__ import annotations

import pytest

from indextables.commands.drop_partitions import run_drop_partitions
from indextables.runtime.steps import finish


@pytest.fixture
def table(make):
    made = make()
    made.commit(
        made.put("a", 10, day="2024-01-01", hour="9"),
        made.put("b", 20, day="2024-01-01", hour="10"),
        made.put("c", 30, day="2024-01-02", hour="10"),
        made.put("d", 40, day=None, hour="10"),
    )
    return made


def _drop(table, where):
    return finish(run_drop_partitions(table.open(), where), table.door)[0]


def test_partitions_are_compared_by_type(table):
    row = _drop(table, "hour > 9 AND day = '2024-01-01'")
    assert row["status"] == "success"
    assert (row["partitions_dropped"], row["splits_removed"]) == (1, 1)
    assert row["total_size_bytes"] == 20
    assert len(table.paths()) == 3
    assert len([p for p in table.stored() if p.endswith(".split")]) == 4


def test_null_partition_is_dropped_only_when_named(table):
    assert _drop(table, "day >= '2000-01-01'")["splits_removed"] == 3
    assert _drop(table, "day IS NULL")["splits_removed"] == 1
    assert table.paths() == []


def test_nothing_happens_when_nothing_matches(table):
    before = table.log.snapshot().version
    assert _drop(table, "hour = 5")["status"] == "no_action"
    assert table.log.snapshot().version == before


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("id = 1", "WHERE clause references non-partition columns: id. Only partition columns"),
        ("id = 1 AND hour = 2", "references non-partition columns: id"),
        ("nope = 1", "Invalid partition predicate: nope = 1"),
    ],
)
def test_wrong_predicate_is_answered_with_an_error_row(table, where, message):
    row = _drop(table, where)
    assert row["status"] == "error"
    assert message in row["message"]
    assert len(table.paths()) == 4


def test_unpartitioned_table_is_refused(make):
    table = make(())
    row = _drop(table, "hour = 1")
    assert row["status"] == "error"
    assert row["message"] == "WHERE clause not supported for non-partitioned tables."


def test_partition_added_meanwhile_is_dropped_too(table):
    opened = table.open()
    table.commit(table.put("late", hour="10"))
    row = finish(run_drop_partitions(opened, "hour = 10"), table.door)[0]
    assert row["splits_removed"] == 4
    assert len(table.paths()) == 1
