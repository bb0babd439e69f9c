"""Joins by index: rows found by the keys of the other side, equal to those over Parquet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.compare import multiset
from tests.oracle.rows import TYPES, write_parquet

TASKS = {"read.local.enabled": "false"}
BROADCAST, MERGE = "BROADCAST(k)", "MERGE(k)"
# whether the keys narrow the scan: always, never, or only from a broadcast
JOINS: dict[str, bool | str] = {
    "SELECT t.* FROM {t} t JOIN keys k ON t.{c} = k.{c}": True,
    "SELECT t.* FROM keys k JOIN {t} t ON k.{c} = t.{c}": True,
    "SELECT t.id, k.n FROM keys k LEFT JOIN {t} t ON k.{c} = t.{c}": True,
    "SELECT t.id, k.n FROM {t} t RIGHT JOIN keys k ON t.{c} = k.{c}": True,
    "SELECT t.id, k.n FROM {t} t LEFT JOIN keys k ON t.{c} = k.{c}": False,
    "SELECT t.id, k.n FROM {t} t FULL JOIN keys k ON t.{c} = k.{c}": False,
    "SELECT t.* FROM {t} t WHERE {c} IN (SELECT {c} FROM keys)": True,
    "SELECT t.* FROM {t} t WHERE EXISTS (SELECT 1 FROM keys k WHERE k.{c} = t.{c})": True,
    "SELECT t.* FROM {t} t WHERE NOT EXISTS (SELECT 1 FROM keys k WHERE k.{c} = t.{c})": False,
    "SELECT t.* FROM {t} t JOIN keys k ON t.{c} <=> k.{c}": False,
    "SELECT k.n, count(*) FROM {t} t JOIN keys k ON t.{c} = k.{c} GROUP BY k.n": True,
    "SELECT t.* FROM {t} t JOIN keys k ON t.{c} = k.{c} WHERE t.i32 > 0 AND k.n < 9": BROADCAST,
    "SELECT t.* FROM {t} t JOIN keys k ON t.{c} = k.{c} AND t.id = k.id": True,
    "SELECT t.id FROM (SELECT * FROM {t} ORDER BY id LIMIT 40) t JOIN keys k ON t.id = k.id": False,
    "SELECT t.* FROM (SELECT {c} x, min(id) FROM {t} GROUP BY 1) t JOIN keys k ON x = k.{c}": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def truth(spark: Any, tmp_path_factory: Any) -> Any:
    """The rows; `joined` is a table of them in several splits, read by tasks."""
    folder: Path = tmp_path_factory.mktemp("joins")
    write_parquet(folder / "pq", rows=300, seed=11)
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    rows = spark.read.parquet(str(folder / "pq"))
    table = str(folder / "table")
    rows.repartition(3).write.format("indextables").save(table)
    rows.createOrReplaceTempView("truth")
    reader = spark.read.format("indextables").options(**TASKS)
    reader.load(table).createOrReplaceTempView("joined")
    # the whole table is too large for the planner, the rows of some keys are not
    few = spark.read.format("indextables").option("read.local.maxRows", 200)
    few.load(table).createOrReplaceTempView("answered")
    reader.option("read.join.maxKeys", 5).load(table).createOrReplaceTempView("joined_by_few")
    reader.option("read.join.maxKeys", 0).load(table).createOrReplaceTempView("joined_by_none")
    # null, NaN, both zeros, several rows of a key, and keys without rows
    some = rows.where("id % 9 = 0").selectExpr("*", "id % 11 AS n")
    keys = some.union(some.where("id % 2 = 0").withColumn("id", some.id + 10_000)).coalesce(1)
    keys.write.parquet(str(folder / "keys"))
    spark.read.parquet(str(folder / "keys")).createOrReplaceTempView("keys")
    spark.table("keys").where("id < 20").write.parquet(str(folder / "few"))
    spark.read.parquet(str(folder / "few")).createOrReplaceTempView("few")
    return rows


def ask(spark: Any, statement: str, hint: str) -> tuple[list[str], str]:
    """Run a statement; return its rows and its final plan."""
    frame = spark.sql(statement.replace("SELECT", f"SELECT /*+ {hint} */", 1))
    rows = multiset(frame.collect())
    return rows, frame._jdf.queryExecution().executedPlan().toString()


def check(spark: Any, statement: str, hint: str, table: str = "joined") -> str:
    """Compare the answers over both tables; return the plan over the index."""
    expected, _ = ask(spark, statement.replace("{t}", "truth"), hint)
    found, plan = ask(spark, statement.replace("{t}", table), hint)
    assert found == expected, f"{statement}\n{plan}"
    return plan


def narrowed(plan: str) -> bool:
    """Whether the index looked up keys."""
    return re.search(r"runtime filters: \[[^]]* IN \(\d+ keys\)", plan) is not None


@pytest.mark.parametrize("column", [*TYPES, "person.age", "person.home.city"])
def test_keys_of_every_type_find_their_rows(spark: Any, truth: Any, column: str) -> None:
    del truth
    for hint in (BROADCAST, MERGE):
        plan = check(
            spark, f"SELECT t.id, k.id FROM {{t}} t JOIN keys k ON t.{column} = k.{column}", hint
        )
        assert narrowed(plan), plan


@pytest.mark.parametrize("hint", [BROADCAST, MERGE])
@pytest.mark.parametrize("statement", JOINS)
def test_every_kind_of_join_returns_the_rows_of_parquet(
    spark: Any, truth: Any, statement: str, hint: str
) -> None:
    del truth
    plan = check(spark, statement.replace("{c}", "word"), hint)
    assert narrowed(plan) == (JOINS[statement] in (True, hint)), plan


@pytest.mark.parametrize("column", ["id", "i32", "f64", "big", "word", "ts", "day", "person.age"])
def test_few_rows_of_keys_come_from_the_planner(spark: Any, truth: Any, column: str) -> None:
    del truth
    for hint in (BROADCAST, MERGE):
        statement = f"SELECT t.*, k.id FROM {{t}} t JOIN few k ON t.{column} = k.{column}"
        plan = check(spark, statement, hint, "answered")
        assert narrowed(plan), plan
        assert "answered by: planner" in plan, plan


@pytest.mark.parametrize(
    "condition",
    [
        "JOIN few k ON t.word = k.word",
        "JOIN few k ON t.word = k.word AND t.id = k.id",
        "JOIN few k ON t.id = k.id JOIN (SELECT id, n FROM few WHERE n > 0) o ON t.id = o.id",
        "JOIN few k ON t.f64 = k.f64",
        "JOIN (SELECT CAST(i32 AS BIGINT) AS b FROM few) k ON t.i32 = k.b",
        "LEFT SEMI JOIN few k ON t.id = k.id",
    ],
)
def test_rows_of_a_broadcast_are_one_partition(spark: Any, truth: Any, condition: str) -> None:
    del truth
    statement = f"SELECT count(*), max(t.word), sum(t.i32) FROM {{t}} t {condition}"
    plan = check(spark, statement, BROADCAST, "answered")
    final = plan.split("== Initial Plan ==", maxsplit=1)[0]
    assert narrowed(final), plan
    assert "IndexTablesAnswer" in final, plan
    assert "Exchange SinglePartition" not in final, plan


@pytest.mark.parametrize(("length", "tasks"), [(30, 1), (60, 2)])
def test_many_rows_of_keys_are_divided_among_tasks(
    spark: Any, tmp_path: Path, length: int, tasks: int
) -> None:
    rows = spark.range(12_000).selectExpr("id % 4000 AS key", f"repeat(uuid(), {length}) AS text")
    rows.write.format("indextables").save(str(tmp_path / "table"))
    spark.read.format("indextables").load(str(tmp_path / "table")).createOrReplaceTempView("long")
    spark.range(1000).createOrReplaceTempView("short")
    frame = spark.sql(
        "SELECT /*+ BROADCAST(s) */ spark_partition_id() AS task, text "
        "FROM long l JOIN short s ON l.key = s.id"
    )
    found = frame.collect()
    assert len({row.text for row in found}) == len(found) == 3000
    assert len({row.task for row in found}) == tasks
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert narrowed(plan), plan
    assert "answered by: planner" in plan, plan


def test_without_adaptive_plans_keys_are_looked_up_too(spark: Any, truth: Any) -> None:
    del truth
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        for hint in (BROADCAST, MERGE):
            assert narrowed(
                check(spark, "SELECT t.* FROM {t} t JOIN keys k ON t.f64 = k.f64", hint)
            )
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize("hint", [BROADCAST, MERGE])
def test_a_small_table_gives_the_keys_of_a_large_one(
    spark: Any, truth: Any, tmp_path: Path, hint: str
) -> None:
    del truth
    path = str(tmp_path / "few")
    few = spark.table("keys").where("id % 2 = 0").select("id", "word", "n").coalesce(1)
    few.write.format("indextables").save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("few_keys")
    for statement in (
        "SELECT t.*, k.n FROM few_keys k JOIN {t} t ON k.word = t.word",
        "SELECT t.*, k.n FROM {t} t JOIN few_keys k ON k.word = t.word",
        "SELECT t.id, k.n FROM few_keys k LEFT JOIN {t} t ON k.id = t.id AND t.i32 > 0",
    ):
        plan = check(spark, statement, hint)
        assert narrowed(plan), plan


# a column, a wider type for the keys, and keys that are not values of the column
WIDER = [
    ("i8", "smallint", "i8 + 1000S"),
    ("i16", "int", "i16 + 100000"),
    ("i32", "bigint", "i32 + 5000000000"),
    ("i32", "decimal(20,2)", "i32 + 0.5"),
]


@pytest.mark.parametrize("case", WIDER)
@pytest.mark.parametrize("table", ["joined", "answered"])
def test_keys_of_a_wider_type_find_their_rows(
    spark: Any, truth: Any, table: str, case: tuple[str, str, str]
) -> None:
    del truth
    column, kind, outside = case
    inside = f"SELECT CAST({column} AS {kind}) AS k, n FROM few"
    keys = f"({inside} UNION ALL SELECT CAST({outside} AS {kind}), n FROM few) k"
    for statement in (
        f"SELECT t.id, k.n FROM {{t}} t JOIN {keys} ON t.{column} = k.k",
        f"SELECT t.id, k.n FROM {keys} LEFT JOIN {{t}} t ON t.{column} = k.k",
        f"SELECT t.id FROM {{t}} t LEFT SEMI JOIN {keys} ON t.{column} = k.k",
        f"SELECT t.id, k.n FROM {{t}} t JOIN {keys} ON t.{column} = k.k AND t.id % 7 = k.n",
    ):
        for hint in (BROADCAST, MERGE):
            plan = check(spark, statement, hint, table)
            assert narrowed(plan), plan
    outer = f"SELECT t.id, k.n FROM {{t}} t LEFT JOIN {keys} ON t.{column} = k.k"
    assert not narrowed(check(spark, outer, BROADCAST, table))


# Samoa skipped 30 December 2011: in Spark, that day starts together with the next one
DAYS = ["1900-01-01", "2011-12-29", "2011-12-30", "2011-12-31", "2024-03-31", "2024-10-27"]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/Sao_Paulo", "Asia/Kolkata"])
@pytest.mark.parametrize("partitioned", [False, True])
def test_timestamps_find_the_dates_that_begin_with_them(
    spark: Any, tmp_path: Path, zone: str, partitioned: bool
) -> None:
    rows = spark.createDataFrame([(day, n) for day in DAYS for n in range(3)], "text string, n int")
    rows = rows.selectExpr("CAST(text AS DATE) AS day", "n").coalesce(1)
    rows.createOrReplaceTempView("truth_days")
    writer = rows.write.format("indextables")
    (writer.partitionBy("day") if partitioned else writer).save(str(tmp_path / "days"))
    reader = spark.read.format("indextables").options(**TASKS)
    reader.load(str(tmp_path / "days")).createOrReplaceTempView("days")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for kind in ("TIMESTAMP", "TIMESTAMP_NTZ"):
            keys = (
                f"SELECT CAST(day AS {kind}) + make_interval(0, 0, 0, 0, n) AS k FROM truth_days "
                "WHERE day > '2011-12-29'"
            )
            spark.sql(f"SELECT DISTINCT k FROM ({keys})").write.mode("overwrite").parquet(
                str(tmp_path / "k")
            )
            spark.read.parquet(str(tmp_path / "k")).createOrReplaceTempView("day_keys")
            statement = "SELECT t.day, t.n, k.k FROM {t} t JOIN day_keys k ON t.day = k.k"
            expected, _ = ask(spark, statement.replace("{t}", "truth_days"), BROADCAST)
            found, plan = ask(spark, statement.replace("{t}", "days"), BROADCAST)
            assert found == expected
            assert narrowed(plan), plan
            # computed separately, the keys could lose one of two days that start together
            found, plan = ask(spark, statement.replace("{t}", "days"), MERGE)
            assert found == expected
            assert not narrowed(plan), plan
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_broadcast_of_a_small_table_needs_no_job(spark: Any, truth: Any, tmp_path: Path) -> None:
    del truth
    path = str(tmp_path / "few")
    spark.table("few").coalesce(1).write.format("indextables").save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("few_rows")
    statement = "SELECT count(*), max(t.word) FROM {t} t JOIN few_rows k ON t.id = k.id"
    expected, _ = ask(spark, statement.replace("{t}", "truth"), BROADCAST)
    context = spark.sparkContext
    context.setJobGroup("join of a small table", "")
    try:
        found, _ = ask(spark, statement.replace("{t}", "answered"), BROADCAST)
    finally:
        context.setJobGroup("others", "")
    assert found == expected
    assert len(context.statusTracker().getJobIdsForGroup("join of a small table")) == 1


def test_keys_of_a_narrower_type_find_their_rows(spark: Any, truth: Any) -> None:
    del truth
    statement = (
        "SELECT t.id, k.n FROM {t} t JOIN (SELECT CAST(id AS INT) AS k, n FROM few) k ON t.id = k.k"
    )
    for hint in (BROADCAST, MERGE):
        assert narrowed(check(spark, statement, hint))


def test_wider_keys_may_be_taken_from_a_broadcast_only(spark: Any, truth: Any) -> None:
    del truth
    spark.sql("SELECT CAST(i32 AS BIGINT) AS b FROM truth LIMIT 20").createOrReplaceTempView("some")
    statement = "SELECT t.id FROM {t} t LEFT SEMI JOIN some k ON t.i32 = k.b"
    for hint, adaptive, wanted in (
        (BROADCAST, True, True),
        (MERGE, True, False),
        (BROADCAST, False, False),
    ):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        try:
            frame = spark.sql(
                statement.replace("{t}", "joined").replace("SELECT", f"SELECT /*+ {hint} */", 1)
            )
            frame.collect()
        finally:
            spark.conf.unset("spark.sql.adaptive.enabled")
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert narrowed(plan) == wanted, plan


def test_wider_keys_without_adaptive_plans_find_their_rows(spark: Any, truth: Any) -> None:
    del truth
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        statement = (
            "SELECT t.id FROM {t} t JOIN (SELECT i32 + 2000000000L * (id % 2) AS b FROM few) k"
            " ON t.i32 = k.b"
        )
        for hint in (BROADCAST, MERGE):
            assert narrowed(check(spark, statement, hint))
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_too_many_keys_are_left_to_spark(spark: Any, truth: Any) -> None:
    del truth
    statement = "SELECT t.* FROM {t} t JOIN keys k ON t.id = k.id"
    plan = check(spark, statement, BROADCAST, "joined_by_few")
    assert "keys, too many for the index)" in plan
    plan = check(spark, statement, BROADCAST, "joined_by_none")
    assert "joins: [id by Spark]" in plan


def test_what_may_differ_when_computed_again_is_taken_from_a_broadcast_only(
    spark: Any, truth: Any
) -> None:
    del truth
    spark.sql("SELECT id FROM truth LIMIT 20").createOrReplaceTempView("some")
    statement = "SELECT /*+ {h} */ t.id FROM joined t JOIN some k ON t.id = k.id"
    for hint, wanted in ((BROADCAST, True), (MERGE, False)):
        frame = spark.sql(statement.replace("{h}", hint))
        frame.collect()
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert narrowed(plan) == wanted, plan


def test_recursive_queries_return_the_rows_of_parquet(spark: Any, truth: Any) -> None:
    del truth
    if spark.version.startswith("4.0"):
        pytest.skip("recursive queries need Spark 4.1")
    below = (
        "WITH RECURSIVE r(id, level) AS (SELECT id, 0 FROM {t} WHERE id = 3 UNION ALL"
        " SELECT t.id, level + 1 FROM r JOIN {t} t ON t.id = r.id * 2 WHERE level < 9)"
    )
    for statement in (
        f"{below} SELECT id, level FROM r",
        f"{below} SELECT t.id, level FROM {{t}} t JOIN r k ON t.id = k.id + 1",
        f"{below} SELECT id FROM {{t}} WHERE id IN (SELECT id FROM r)",
    ):
        check(spark, statement, BROADCAST)


def test_explain_says_how_a_join_is_done(spark: Any, truth: Any) -> None:
    del truth
    shown = spark.sql("EXPLAIN SELECT t.* FROM joined t JOIN keys k ON t.word = k.word").head()[0]
    assert re.search(r"joins: \[word by index up to \d+ keys( of a broadcast)?\]", shown), shown


CHANGES = {
    "merge": "MERGE INTO {t} t USING changing k ON t.id = k.id "
    "WHEN MATCHED THEN UPDATE SET i64 = 77 WHEN NOT MATCHED THEN INSERT (id, i64) VALUES (k.id, 5)",
    "update": "UPDATE {t} SET i64 = 77 WHERE id IN (SELECT id FROM changing)",
    "delete": "DELETE FROM {t} t WHERE EXISTS (SELECT 1 FROM changing k WHERE k.id = t.id)",
}


@pytest.mark.parametrize("setting", ["read.local.enabled=false", "read.local.maxRows=200"])
@pytest.mark.parametrize("change", CHANGES)
def test_row_changes_find_their_rows_by_the_index(
    spark: Any, truth: Any, tmp_path: Path, change: str, setting: str
) -> None:
    change_by_keys(spark, truth.select("id", "i64"), str(tmp_path / "table"), change, setting)


@pytest.mark.parametrize("change", CHANGES)
def test_row_changes_find_their_rows_by_wider_keys(
    spark: Any, truth: Any, tmp_path: Path, change: str
) -> None:
    before = truth.selectExpr("CAST(id AS INT) AS id", "i64")
    change_by_keys(spark, before, str(tmp_path / "table"), change, "read.local.maxRows=200")


def change_by_keys(spark: Any, before: Any, table: str, change: str, setting: str) -> None:
    """Change a table of these rows by keys, and compare it with Spark's result."""
    keys = spark.sql("SELECT DISTINCT id FROM keys WHERE id % 2 = 0").localCheckpoint()
    keys.createOrReplaceTempView("changing")
    after = before.join(keys, "id", "left_anti")
    if change != "delete":
        after = after.union(before.join(keys, "id").selectExpr("id", "77L"))
    if change == "merge":
        after = after.union(keys.join(before, "id", "left_anti").selectExpr("id", "5L"))
    before.repartition(3).write.format("indextables").save(table)
    key, _, value = f"spark.indextables.{setting}".partition("=")
    spark.conf.set(key, value)
    try:
        text = CHANGES[change].replace("{t}", f"indextables.`{table}`")
        shown = spark.sql(f"EXPLAIN {text}").head()[0]
        spark.sql(text)
    finally:
        spark.conf.unset(key)
    assert re.search(r"RuntimeFilters: \[dynamicpruningexpression\((cast\()?id#", shown), shown
    found = spark.read.format("indextables").load(table)
    assert multiset(found.collect()) == multiset(after.collect())
