"""Sums that overflow: an error, null or a wrapped number, as over Parquet."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

LOCAL = "spark.indextables.read.local.enabled"
ANSI = "spark.sql.ansi.enabled"
STATEMENTS = [
    "SELECT sum(n) FROM {t}",
    "SELECT p, sum(n) FROM {t} GROUP BY p",
    "SELECT try_sum(n), count(*) FROM {t}",
    "SELECT p, try_sum(n) FROM {t} GROUP BY p",
    "SELECT try_sum(n) FILTER (WHERE id < 2), sum(id) FROM {t}",
    "SELECT try_avg(n), try_sum(i) FROM {t}",
    "SELECT try_sum(DISTINCT n) FROM {t}",
    "SELECT sum(q) FROM {t}",
    "SELECT sum(q) FROM {t} WHERE id > 1",
    "SELECT p, sum(q), count(*) FROM {t} GROUP BY p",
    "SELECT avg(q), max(q) FROM {t}",
    "SELECT p, avg(q) FROM {t} WHERE id > 1 GROUP BY p",
]


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    """Sums fit in every split, and not in all of them."""
    folder = tmp_path_factory.mktemp("sums")
    rows = spark.range(0, 8, 1, 1).selectExpr(
        "id",
        "id % 4 AS p",
        "6000000000000000000L + id AS n",
        "cast(id AS int) AS i",
        "6000000000000000000L + id % 2 AS q",
    )
    rows.write.parquet(str(folder / "parquet"))
    rows.write.format("indextables").partitionBy("p", "q").option(
        "write.optimizeWrite.enabled", "false"
    ).save(str(folder / "by"))
    for row in range(8):  # one row per split
        one = rows.where(f"id = {row}").coalesce(1).write.format("indextables")
        one.mode("append").save(str(folder / "single"))
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("sums_truth")
    for name in ("by", "single"):
        options = {"read.splitsPerTask": "8"}
        frame = spark.read.format("indextables").options(**options).load(str(folder / name))
        frame.createOrReplaceTempView(f"sums_{name}")
    return {name: str(folder / name) for name in ("by", "single", "parquet")}


def answer(spark: Any, statement: str) -> Any:
    try:
        return sorted(str(row) for row in spark.sql(statement).collect())
    except PySparkException as problem:
        return problem.getCondition()


@pytest.fixture(params=["true", "false"])
def ansi(request: Any, spark: Any) -> Any:
    spark.conf.set(ANSI, request.param)
    yield request.param
    spark.conf.unset(ANSI)


@pytest.mark.parametrize("local", ["true", "false"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_sums_overflow_as_those_of_parquet(
    spark: Any, tables: dict[str, str], ansi: str, local: str, statement: str
) -> None:
    truth = answer(spark, statement.replace("{t}", "sums_truth"))
    spark.conf.set(LOCAL, local)
    try:
        for name in ("sums_by", "sums_single"):
            assert answer(spark, statement.replace("{t}", name)) == truth, name
    finally:
        spark.conf.unset(LOCAL)


@pytest.mark.parametrize("statement", STATEMENTS[:3])
def test_a_view_overflows_as_when_it_was_made(
    spark: Any, tables: dict[str, str], ansi: str, statement: str
) -> None:
    sources = {
        "sums_view_truth": f"parquet.`{tables['parquet']}`",
        "sums_view_ours": f"indextables.`{tables['single']}`",
    }
    for view, source in sources.items():
        named = statement.replace("sum(n)", "sum(n) AS total").replace("count(*)", "count(*) AS c")
        spark.sql(f"CREATE OR REPLACE VIEW {view} AS {named.replace('{t}', source)}")
    spark.conf.set(ANSI, "false" if ansi == "true" else "true")
    try:
        truth, ours = (answer(spark, f"SELECT * FROM {view}") for view in sources)
    finally:
        for view in sources:
            spark.sql(f"DROP VIEW {view}")
    assert ours == truth
