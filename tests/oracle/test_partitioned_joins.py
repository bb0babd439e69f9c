"""Joins and groups of partitioned tables without a shuffle return the same rows as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.compare import multiset
from tests.oracle.rows import write_parquet

pytestmark = pytest.mark.spark

TASKS = {"read.local.enabled": "false"}
REPORTING = {**TASKS, "read.reportPartitioning": "true"}
BUCKETING = "spark.sql.sources.v2.bucketing."
EXACT = ["flag", "i8", "i16", "i32", "i64", "small", "big", "word", "day", "ts", "ntz"]
# not pushed down, so that rows come from the scan
GROUP = "SELECT {c}, count(*), sum(id), round(stddev(id), 6) FROM {t} GROUP BY {c}"
JOIN = "SELECT t.{c}, t.id, u.id FROM {t} t JOIN {u} u ON t.{c} = u.{c}"
ON = "ON t.day = u.day AND t.region = u.region"
PART = "SELECT day, region, round(stddev(id), 6) AS n FROM {} GROUP BY day, region"
KINDS = [
    "SELECT t.day, t.region, t.id, u.id FROM {t} t JOIN {u} u USING (day, region)",
    "SELECT t.day, t.region, t.id, u.id, u.day FROM {t} t LEFT JOIN {u} u USING (day, region)",
    "SELECT u.day, u.region, t.id, u.id, t.day FROM {t} t RIGHT JOIN {u} u USING (day, region)",
    f"SELECT t.day, u.day, t.region, u.region, t.id, u.id FROM {{t}} t FULL JOIN {{u}} u {ON}",
    "SELECT t.* FROM {t} t LEFT SEMI JOIN {u} u USING (day, region)",
    "SELECT t.* FROM {t} t LEFT ANTI JOIN {u} u USING (day, region)",
    f"SELECT t.day, t.region, t.id, u.id FROM {{t}} t JOIN {{u}} u {ON} AND t.id = u.id",
    f"SELECT t.day, t.region, t.id, u.id FROM {{t}} t JOIN {{u}} u {ON.replace('=', '<=>')}",
    f"SELECT * FROM ({PART.format('{t}')}) t JOIN ({PART.format('{u}')}) u USING (day, region)",
    "SELECT day, region, id, row_number() OVER (PARTITION BY day, region ORDER BY id) FROM {t}",
]


@contextmanager
def settings(spark: Any, **values: str) -> Iterator[None]:
    """Set session settings for the block; `_` stands for a dot."""
    names = {key.replace("_", "."): value for key, value in values.items()}
    names["spark.sql.autoBroadcastJoinThreshold"] = "-1"
    # otherwise Spark shuffles by all keys of a join, even if fewer already partition the rows
    names["spark.sql.requireAllClusterKeysForCoPartition"] = "false"
    before = {key: spark.conf.get(key, None) for key in names}
    for key, value in names.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


def ask(spark: Any, statement: str) -> tuple[list[str], str]:
    """Run a statement; return its rows and its final plan."""
    frame = spark.sql(statement)
    rows = multiset(frame.collect())
    return rows, frame._jdf.queryExecution().executedPlan().toString()


def is_shuffled(plan: str) -> bool:
    """Whether rows of the tables are shuffled; keys of runtime filters may be."""
    subquery: int | None = None
    for line in plan.splitlines():
        node = line.lstrip(" :+-")
        depth = len(line) - len(node)
        if subquery is not None and depth > subquery:
            continue
        subquery = depth if node.startswith("Subquery") else None
        if "Exchange hashpartitioning" in node:
            return True
    return False


known: dict[str, list[str]] = {}


def check(
    spark: Any, statement: str, *, shuffles: bool, ours: str = "reported", of: str = ""
) -> str:
    """Compare with Parquet and check for a shuffle; return the plan."""
    truth = statement.format(t=f"truth_{of}t", u=f"truth_{of}u")
    expected = known[truth] if truth in known else ask(spark, truth)[0]
    if not of:  # these tables do not change
        known[truth] = expected
    found, plan = ask(spark, statement.format(t=f"{ours}_{of}t", u=f"{ours}_{of}u"))
    assert found == expected, f"{statement}\n{plan}"
    assert is_shuffled(plan) == shuffles, f"{statement}\n{plan}"
    return plan


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: Any) -> Path:
    """Two tables by day and region, with different sets of partitions, including nulls.

    `reported_…` reports its partitions, `plain_…` does not, `truth_…` is Parquet.
    """
    folder: Path = tmp_path_factory.mktemp("partitioned")
    for name, days, regions in (("t", 5, 3), ("u", 7, 2)):
        rows = spark.sql(f"""
            SELECT id, 'message ' || (id % 4) AS message,
              CASE WHEN id % {days} > 0
                THEN date_add(DATE'2026-01-01', CAST(id % {days} AS INT)) END AS day,
              CASE WHEN id % {regions} > 0 THEN 'region ' || (id % {regions}) END AS region
            FROM range(120)""")
        rows.write.parquet(str(folder / f"{name}.parquet"))
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(f"truth_{name}")
        table = str(folder / name)
        # several splits of each partition
        for part in range(2):
            writer = rows.where(f"id % 2 = {part}").write.format("indextables")
            writer.partitionBy("day", "region").mode("append").save(table)
        views(spark, name, table)
    return folder


def views(spark: Any, name: str, table: str) -> None:
    """Views of a table that is read with and without reporting partitions."""
    reader = spark.read.format("indextables")
    reader.options(**REPORTING).load(table).createOrReplaceTempView(f"reported_{name}")
    reader = spark.read.format("indextables")
    reader.options(**TASKS).load(table).createOrReplaceTempView(f"plain_{name}")


@pytest.mark.parametrize("statement", KINDS)
def test_every_kind_of_join_needs_no_shuffle(spark: Any, tables: Path, statement: str) -> None:
    del tables
    # Spark computes the keys of `<=>` from the columns, so they are not the partition columns
    computed = "<=>" in statement
    with settings(spark, spark_sql_adaptive_enabled="false"):
        check(spark, statement, shuffles=computed)
    with settings(spark):
        check(spark, statement, shuffles=computed)
        check(spark, statement, shuffles=True, ours="plain")


@pytest.mark.parametrize("statement", [KINDS[1], KINDS[3], KINDS[6], KINDS[8]])
def test_settings_of_spark_are_obeyed(spark: Any, tables: Path, statement: str) -> None:
    del tables
    with settings(spark, **{f"{BUCKETING}partiallyClusteredDistribution.enabled": "true"}):
        check(spark, statement, shuffles=False)
    with settings(spark, **{f"{BUCKETING}enabled": "false"}):
        check(spark, statement, shuffles=True)


def test_one_of_several_partition_columns_is_enough(spark: Any, tables: Path) -> None:
    del tables
    with settings(spark):
        check(spark, GROUP.replace("{c}", "day"), shuffles=False)
        check(spark, GROUP.replace("{c}", "region"), shuffles=False)
        check(spark, JOIN.replace("{c}", "day"), shuffles=False)
        # region is also read, so tasks are divided by both
        check(
            spark, "SELECT day, max(region), stddev(id) < 99 FROM {t} GROUP BY day", shuffles=True
        )


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partitions_that_a_runtime_filter_leaves_out_keep_their_place(
    spark: Any, tables: Path, adaptive: str
) -> None:
    del tables
    few = "SELECT DISTINCT day AS d FROM VALUES (DATE'2026-01-02'), (DATE'2026-01-03') AS v(day)"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW few AS {few} WHERE day > DATE'2026-01-02'")
    join = "SELECT /*+ BROADCAST(few) */ t.day, t.region, t.id, u.id FROM {t} t"
    with settings(spark, spark_sql_adaptive_enabled=adaptive):
        for statement in (
            f"{join} JOIN {{u}} u USING (day, region) JOIN few ON t.day = few.d",
            f"{join} JOIN few ON t.day = few.d LEFT JOIN {{u}} u USING (day, region)",
            # only some splits, by an indexed column
            f"{join} JOIN {{u}} u USING (day, region) JOIN few ON t.id = day(few.d)",
        ):
            plan = check(spark, statement, shuffles=False)
            assert "runtime filters: [" in plan, plan


@pytest.fixture(scope="module")
def typed(spark: Any, tmp_path_factory: Any) -> Path:
    """Write rows with a column of each type."""
    folder: Path = tmp_path_factory.mktemp("typed")
    write_parquet(folder / "pq", rows=200, seed=5)
    return folder


def make_typed(spark: Any, folder: Path, column: str) -> None:
    rows = spark.read.parquet(str(folder / "pq")).selectExpr(column, "id", "i32 AS other")
    for name, condition in (("typed_t", "id % 3 > 0"), ("typed_u", "id % 3 < 2 AND id % 7 > 0")):
        some = rows.where(condition)
        some.createOrReplaceTempView(f"truth_{name}")
        table = str(folder / f"{column} {name}")
        some.write.format("indextables").partitionBy(column).save(table)
        views(spark, name, table)


@pytest.mark.parametrize("column", EXACT)
def test_partition_values_of_every_type(spark: Any, typed: Path, column: str) -> None:
    make_typed(spark, typed, column)
    with settings(spark):
        check(spark, GROUP.replace("{c}", column), shuffles=False, of="typed_")
    with settings(spark, spark_sql_session_timeZone="America/New_York"):
        check(spark, JOIN.replace("{c}", column), shuffles=False, of="typed_")


def test_equal_values_in_several_partitions_are_shuffled(spark: Any, typed: Path) -> None:
    make_typed(spark, typed, "f64")  # both zeros
    with settings(spark):
        check(
            spark, "SELECT t.id, u.id FROM {t} t JOIN {u} u USING (f64)", shuffles=True, of="typed_"
        )


def test_changed_tables_keep_reporting(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(60).selectExpr("id", "CAST(id % 3 AS INT) AS k", "id % 2 AS x")
    for name in ("changed_t", "changed_u"):
        table = str(tmp_path / name)
        rows.write.format("indextables").partitionBy("k").save(table)
        spark.sql(f"DELETE FROM indextables.`{table}` WHERE id % 7 = 3")
        spark.sql(f"DELETE FROM indextables.`{table}` WHERE k = 1 AND x = 0")
        spark.sql(f"ALTER TABLE indextables.`{table}` ADD COLUMN more STRING")
        more = rows.selectExpr("id + 60 AS id", "CAST(k + 1 AS INT) AS k", "x", "'m' AS more")
        more.write.format("indextables").mode("append").save(table)
        live = rows.where("id % 7 <> 3 AND NOT (k = 1 AND x = 0)").selectExpr("*", "'' AS more")
        live.union(more).createOrReplaceTempView(f"truth_{name}")
        views(spark, name, table)
    with settings(spark):
        check(spark, JOIN.replace("{c}", "k"), shuffles=False, of="changed_")
        check(spark, GROUP.replace("{c}", "k"), shuffles=False, of="changed_")


def test_rows_are_merged_by_partition(spark: Any, tables: Path, tmp_path: Path) -> None:
    table = str(tmp_path / "merged")
    spark.table("truth_t").write.format("indextables").partitionBy("day", "region").save(table)
    ours = {f"spark.indextables.{key}": value for key, value in REPORTING.items()}
    with settings(spark, **ours):
        spark.sql(f"""
            MERGE INTO indextables.`{table}` AS t USING indextables.`{tables}/u` AS u
            ON t.day = u.day AND t.region = u.region AND t.id = u.id
            WHEN MATCHED THEN UPDATE SET message = 'merged'
            WHEN NOT MATCHED THEN INSERT *""")
    expected = spark.sql("""
        SELECT t.id, CASE WHEN u.id IS NULL THEN t.message ELSE 'merged' END, t.day, t.region
        FROM truth_t t LEFT JOIN truth_u u USING (id, day, region)
        UNION ALL
        SELECT id, message, day, region FROM truth_u
        LEFT ANTI JOIN truth_t USING (id, day, region)""")
    found = spark.sql(f"SELECT id, message, day, region FROM indextables.`{table}`")
    assert multiset(found.collect()) == multiset(expected.collect())
