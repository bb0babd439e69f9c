"""The profiler and the cache counters without Spark."""

from __future__ import annotations

import pytest

from indextables.runtime import handles
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext


@pytest.fixture
def run(table_path):
    from tests.stores.tables import make_table

    import indextables
    from indextables.config.settings import resolve

    make_table(table_path, resolve({}), splits=2, each=5)
    context = LocalContext()
    handles.flush()

    def search():
        return indextables.open(table_path).search("user1", ["id"]).num_rows

    yield search, lambda text: execute(text, context).to_pylist()
    execute("DISABLE INDEXTABLES PROFILER", context)
    handles.flush()


def test_sections_are_measured_when_the_profiler_is_on(run):
    search, command = run
    command("RESET INDEXTABLES PROFILER")
    search()
    assert command("DESCRIBE INDEXTABLES PROFILER") == []
    command("ENABLE INDEXTABLES PROFILER")
    handles.flush()
    search()
    found = {row["section"]: row for row in command("RESET INDEXTABLES PROFILER")}
    assert found["open_split"]["calls"] == found["search"]["calls"] == 2
    one = found["search"]
    assert one["category"] == "query"
    assert 0 < one["min_us"] <= one["avg_us"] <= one["max_us"]
    assert one["total_ms"] == pytest.approx(2 * one["avg_us"] / 1000)
    assert command("DESCRIBE INDEXTABLES PROFILER") == []


def test_hits_are_counted_when_splits_are_open_already(run):
    search, command = run
    command("RESET INDEXTABLES PROFILER CACHE")
    search()
    search()
    found = {row["cache"]: row for row in command("RESET INDEXTABLES PROFILER CACHE")}
    handle = found["split_handles"]
    assert (handle["hits"], handle["misses"], handle["hit_rate"]) == (4, 2, 4 / 6)
    assert (found["disk"]["hits"], found["disk"]["hit_rate"]) == (0, None)
    again = {row["cache"]: row for row in command("DESCRIBE INDEXTABLES PROFILER CACHE")}
    assert again["split_handles"]["hit_rate"] is None
