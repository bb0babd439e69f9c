"""Large answers: many groups, large sums, a million rows."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pytest
from tests.oracle.paths import PATHS, load

ROWS = 1_000_000
GROUPS = 200_000


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: Any) -> str:
    """A million rows in two splits: every key five times, values near 2^53."""
    path = str(tmp_path_factory.mktemp("large") / "table")
    rows = spark.range(0, ROWS, 1, 2).selectExpr(
        "id", f"concat('key ', id % {GROUPS}) AS key", "9007199254740993L + id AS value"
    )
    rows.write.format("indextables").save(path)
    return path


@pytest.fixture(params=PATHS)
def view(request: Any, spark: Any, table: str) -> Any:
    return load(spark, table, request.param)


def test_every_one_of_many_groups_is_exact(view: Any):
    found = view.groupBy("key").agg({"*": "count", "id": "sum"}).toArrow()
    assert found.num_rows == GROUPS
    assert pc.min_max(found["count(1)"]).as_py() == {"min": 5, "max": 5}
    key = pc.cast(pc.utf8_slice_codeunits(found["key"], 4), "int64")
    # the five ids of a key: key, key + GROUPS, ... key + 4 * GROUPS
    expected = pc.add(pc.multiply(key, 5), 10 * GROUPS)
    assert pc.all(pc.equal(found["sum(id)"], expected)).as_py()


def test_sums_of_longs_beyond_doubles_are_exact(view: Any):
    total = view.where("id < 600").agg({"value": "sum"}).collect()[0][0]
    assert total == 9007199254740993 * 600 + sum(range(600))


def test_a_million_rows_are_all_there(view: Any):
    found = view.toArrow()
    assert found.num_rows == ROWS
    assert pc.count_distinct(found["id"]).as_py() == ROWS
    assert pc.all(pc.equal(pc.subtract(found["value"], found["id"]), 9007199254740993)).as_py()
