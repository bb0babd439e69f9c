"""Groups and aggregates of struct members equal Spark's answers."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle.paths import PATHS, check, make_views

INNER = pa.struct(
    [("n", pa.int32()), ("Word", pa.string()), ("d.t", pa.date32()), ("cost", pa.decimal128(9, 2))]
)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("flag", pa.bool_()),
        ("s", pa.struct([("a", pa.int64()), ("b", pa.string()), ("inner", INNER)])),
        (
            "f",
            pa.struct([("x", pa.float64()), ("y", pa.float32()), ("list", pa.list_(pa.int32()))]),
        ),
        ("t", pa.struct([("at", pa.timestamp("us", tz="UTC")), ("day", pa.date32())])),
    ]
)
STATEMENTS = [
    "SELECT s.a, count(*), min(id) FROM {t} GROUP BY s.a",
    "SELECT s.inner.Word, s.b, count(*), max(s.a) FROM {t} GROUP BY s.inner.Word, s.b",
    "SELECT s.inner.`d.t`, sum(s.inner.n), sum(s.a) FROM {t} WHERE id > 20 GROUP BY ALL",
    "SELECT flag, min(s.b), max(s.inner.cost), sum(s.inner.cost), avg(s.a) FROM {t} GROUP BY flag",
    "SELECT count(s.a), count(s.inner), count(s.inner.n), count(f.x) AS a0 FROM {t}",
    "SELECT count(DISTINCT s.b), count(DISTINCT s.b) + 1 AS a0 FROM {t} WHERE s.a > 1",
    "SELECT s.b, count_if(s.inner.n > 2), sum(s.a) FILTER (WHERE s.b = 'x') FROM {t} GROUP BY s.b",
    "SELECT f.x, count(*), min(f.y) FROM {t} GROUP BY f.x",
    "SELECT f.y, s.b, max(f.x) FROM {t} WHERE id > 10 GROUP BY f.y, s.b",
    "SELECT flag, sum(f.x), avg(f.y), min(f.x), max(f.y) FROM {t} WHERE f.x < 9 GROUP BY flag",
    "SELECT date_trunc('week', t.at), count(*), max(t.day) FROM {t} GROUP BY 1",
    "SELECT trunc(t.day, 'month'), s.b, count(f.x) FROM {t} GROUP BY 1, 2",
    "SELECT indextables_histogram(s.inner.n, 2, 1), count(*) FROM {t} GROUP BY 1",
    "SELECT indextables_histogram(f.x, 0.5), count(*), sum(s.a) FROM {t} WHERE f.x > -2 GROUP BY 1",
    "SELECT indextables_date_histogram(t.at, '6h'), count(*) FROM {t} GROUP BY 1",
    "SELECT indextables_range(f.y, 'low', NULL, 1, 'high', 1, NULL), count(*) FROM {t} GROUP BY 1",
    "SELECT s.b, median(f.x), count(*) FROM {t} GROUP BY s.b",
    "SELECT count(DISTINCT f.x, s.inner.Word) AS a0 FROM {t}",
]
# Spark computes lists inside structs, structs as keys and functions of members
LEFT_TO_SPARK = [
    "SELECT flag, max(f.x), count(f.list) FROM {t} GROUP BY flag",
    "SELECT s.inner, count(*) FROM {t} GROUP BY s.inner",
    "SELECT upper(s.b), count(*) FROM {t} GROUP BY 1",
]


def _rows(count: int) -> pa.Table:
    rng = random.Random(11)

    def some(make: Any) -> Any:
        return None if rng.random() < 0.2 else make()

    def inner() -> dict[str, Any]:
        return {
            "n": some(lambda: rng.randint(-5, 5)),
            "Word": some(lambda: rng.choice(["", "a", "ä b", "Zz"])),
            "d.t": some(lambda: dt.date(2020, 1, rng.randint(1, 5))),
            "cost": some(lambda: Decimal(rng.randint(-999, 999)).scaleb(-2)),
        }

    def outer() -> dict[str, Any]:
        text = some(lambda: rng.choice("xyz"))
        return {"a": some(lambda: rng.randint(0, 4)), "b": text, "inner": some(inner)}

    def floats() -> dict[str, Any]:
        # sums of these are exact in any order
        numbers = [0.0, -0.0, 1.5, -2.25, 8.0, float("nan"), float("inf"), float("-inf")]
        return {
            "x": some(lambda: rng.choice(numbers)),
            "y": some(lambda: rng.choice(numbers)),
            "list": [1],
        }

    def times() -> dict[str, Any]:
        first = dt.datetime(1969, 12, 30, tzinfo=dt.UTC)
        seconds = dt.timedelta(microseconds=rng.randint(0, 60 * 86_400_000_000))
        return {
            "at": some(lambda: first + seconds),
            "day": some(lambda: dt.date(1969, 12, 30) + dt.timedelta(rng.randint(0, 60))),
        }

    columns = {
        "id": list(range(count)),
        "flag": [some(lambda: rng.random() < 0.5) for _ in range(count)],
        "s": [some(outer) for _ in range(count)],
        "f": [some(floats) for _ in range(count)],
        "t": [some(times) for _ in range(count)],
    }
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(scope="module", params=["compatible", "lean"])
def views(request: Any, spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("members")
    pq.write_table(_rows(200), folder / "rows.parquet")
    rows = spark.read.parquet(str(folder / "rows.parquet"))
    writer = rows.repartition(3).write.format("indextables")
    writer.option("indexing.layout", request.param).save(str(folder / "table"))
    return make_views(spark, rows, str(folder / "table"), f"members_{request.param}")


@pytest.mark.parametrize("statement", [*STATEMENTS, *LEFT_TO_SPARK])
def test_members_answer_as_in_parquet(spark: Any, views: Any, statement: str) -> None:
    check(spark, views, statement)


@pytest.mark.parametrize("path", PATHS)
def test_groups_of_members_come_from_the_index(spark: Any, views: Any, path: str) -> None:
    for statement in STATEMENTS:
        if "DISTINCT s.b" not in statement:  # pushed down only if the planner process answers
            shown = spark.sql("EXPLAIN " + statement.replace("{t}", views[path])).head()[0]
            assert "pushed aggregates: [" in shown, shown


@pytest.mark.parametrize("path", PATHS)
def test_other_groups_read_only_their_columns(spark: Any, views: Any, path: str) -> None:
    for statement, columns in zip(LEFT_TO_SPARK, ["flag, f", "s", "s"], strict=True):
        shown = spark.sql("EXPLAIN " + statement.replace("{t}", views[path])).head()[0]
        assert "pushed aggregates" not in shown, shown
        assert f"columns: [{columns}]" in shown, shown
