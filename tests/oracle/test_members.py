"""Groups and aggregates of struct members give Spark's answers."""

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
        ("f", pa.struct([("x", pa.float64()), ("list", pa.list_(pa.int32()))])),
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
    # floats and lists inside structs stay Spark's
    "SELECT f.x, count(*) FROM {t} GROUP BY f.x",
    "SELECT flag, max(f.x), count(f.list) FROM {t} GROUP BY flag",
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

    columns = {
        "id": list(range(count)),
        "flag": [some(lambda: rng.random() < 0.5) for _ in range(count)],
        "s": [some(outer) for _ in range(count)],
        "f": [some(lambda: {"x": rng.choice([0.0, -0.0, 1.5]), "list": [1]}) for _ in range(count)],
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


@pytest.mark.parametrize("statement", STATEMENTS)
def test_members_answer_as_in_parquet(spark: Any, views: Any, statement: str) -> None:
    check(spark, views, statement)


@pytest.mark.parametrize("path", PATHS)
def test_groups_of_members_come_from_the_index(spark: Any, views: Any, path: str) -> None:
    for statement in STATEMENTS[:4]:
        shown = spark.sql("EXPLAIN " + statement.replace("{t}", views[path])).head()[0]
        assert "pushed aggregates: [" in shown, shown
