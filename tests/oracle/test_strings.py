"""Strings that are not UTF-8 are read back byte for byte, and answers equal Spark's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.oracle.compare import multiset
from tests.oracle.paths import PATHS, TRUTH, check, load, make_views

pytestmark = pytest.mark.spark

# valid and broken: a stray byte, cut characters, a surrogate, overlong forms, Latin-1
VALUES = [
    "61", "c3a9", "e282ac", "f09f9880", "efbfbd", "", "80", "8081", "ff", "c3", "e282", "eda080",
    "c080", "f8888080", "63616680", "636166e9", "63616620e9", "61ff62", "61c3", "c3a980", "7a",
]  # fmt: skip
EXACT = "hex(CAST({c} AS BINARY))"


def rows(spark: Any) -> Any:
    """Every value several times, in every kind of column."""
    values = ", ".join(f"CAST(x'{v}' AS STRING)" for v in VALUES)
    return spark.sql(f"""
        SELECT id, v AS s, concat('word ', v, ' cafe') AS t,
               concat('{{"k":"', if(id % 2 = 0, 'x', v), '"}}') AS j,
               named_struct('a', v, 'n', id) AS st, array(v, 'x', null) AS l,
               map('k', v) AS m, map(coalesce(v, ''), id) AS mk, id % 3 AS p
        FROM (SELECT id, CASE WHEN id % 7 = 6 THEN NULL
                         ELSE element_at(array({values}), CAST(id % {len(VALUES)} AS INT) + 1) END
                     AS v
              FROM range(150)) WHERE v IS NOT NULL OR id % 2 = 0
    """).selectExpr(
        "id", "s", "t", "j", "st", "l", "m", "if(s IS NULL, null, mk) AS mk", "p",
    )  # fmt: skip


@pytest.fixture(scope="module", params=["compatible", "lean"])
def views(request: Any, spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp(f"strings-{request.param}")
    rows(spark).write.parquet(str(folder / "pq"))
    data = spark.read.parquet(str(folder / "pq"))
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    writer = data.write.format("indextables").option("indexing.typemap.t", "text")
    writer = writer.option("indexing.typemap.j", "json")
    writer.option("indexing.layout", request.param).save(str(folder / "table"))
    return make_views(spark, data, str(folder / "table"), f"strings_{request.param}")


ALL = ", ".join([
    "id", *(EXACT.format(c=c) for c in ("s", "t", "j", "st.a", "l[0]", "m['k']")),
    "transform(map_keys(mk), k -> hex(CAST(k AS BINARY)))", "map_values(mk)", "p",
])  # fmt: skip


def test_every_string_comes_back(spark: Any, views: dict[str, str]):
    check(spark, views, f"SELECT {ALL} FROM {{t}}")


@pytest.mark.parametrize("value", ["61", "80", "8081", "c3", "efbfbd", "63616680", "e282ac", ""])
@pytest.mark.parametrize("column", ["s", "t", "st.a"])
def test_comparisons(spark: Any, views: dict[str, str], column: str, value: str):
    literal = f"CAST(x'{value}' AS STRING)"
    tests = [
        f"{column} = {literal}", f"{column} < {literal}", f"{column} >= {literal}",
        f"{column} <=> {literal}", f"{column} IN ({literal}, 'a', CAST(x'ff' AS STRING))",
        f"NOT {column} IN ({literal}, 'a')",
        f"{column} BETWEEN {literal} AND CAST(x'c4' AS STRING)",
        f"startswith({column}, {literal})", f"endswith({column}, {literal})",
        f"contains({column}, {literal})",
    ]  # fmt: skip
    for test in tests:
        check(spark, views, f"SELECT id FROM {{t}} WHERE {test}")


@pytest.mark.parametrize("column", ["s", "t"])
def test_patterns(spark: Any, views: dict[str, str], column: str):
    for pattern in ("caf%", "caf_", "%é%", "_", "__", "a_b", "%e", "word _ cafe"):
        check(spark, views, f"SELECT id FROM {{t}} WHERE {column} LIKE '{pattern}'")
    check(spark, views, f"SELECT id FROM {{t}} WHERE {column} RLIKE '^caf.$'")


def test_array_elements(spark: Any, views: dict[str, str]):
    for value in ("61", "80", "efbfbd", "c3"):
        literal = f"CAST(x'{value}' AS STRING)"
        check(spark, views, f"SELECT id FROM {{t}} WHERE array_contains(l, {literal})")


def test_aggregates_and_orders(spark: Any, views: dict[str, str]):
    one = EXACT.format
    for column in ("s", "t"):
        check(
            spark, views, f"SELECT {one(c=column)}, count(*), max(id) FROM {{t}} GROUP BY {column}"
        )
        check(
            spark, views,
            f"SELECT {one(c=f'min({column})')}, {one(c=f'max({column})')}, count({column}), "
            f"count(DISTINCT {column}) FROM {{t}}",
        )  # fmt: skip
        check(
            spark, views,
            f"SELECT p, {one(c=f'min({column})')}, {one(c=f'max({column})')} FROM {{t}} GROUP BY p",
        )  # fmt: skip
    for direction in ("ASC", "DESC NULLS FIRST"):
        check(
            spark, views, f"SELECT id, {one(c='s')} FROM {{t}} ORDER BY s {direction}, id LIMIT 9"
        )


def test_words_around_broken_bytes_are_found(spark: Any, views: dict[str, str]):
    for path in PATHS:
        found = spark.sql(f"SELECT id FROM {views[path]} WHERE t indexquery 'cafe'").count()
        assert found == spark.sql(f"SELECT id FROM {views[TRUTH]} WHERE t IS NOT NULL").count()


def test_rows_change_and_splits_merge(spark: Any, tmp_path: Path):
    table = str(tmp_path / "table")
    data = rows(spark).select("id", "s", "t", "st", "mk", "p").cache()
    data.where("id < 80").write.format("indextables").option("indexing.typemap.t", "text").save(
        table
    )
    data.where("id >= 80").write.format("indextables").mode("append").save(table)
    name = f"indextables.`{table}`"
    spark.sql(f"DELETE FROM {name} WHERE s = CAST(x'8081' AS STRING)")
    spark.sql(
        f"UPDATE {name} SET t = concat(s, CAST(x'fe' AS STRING)) WHERE s > CAST(x'c3' AS STRING)"
    )
    spark.sql(f"""MERGE INTO {name} x USING (SELECT CAST(x'61ff62' AS STRING) AS s) y ON x.s = y.s
                  WHEN MATCHED THEN UPDATE SET s = CAST(x'61fe62' AS STRING)""")
    expected = data.where("s IS NULL OR s <> CAST(x'8081' AS STRING)").selectExpr(
        "id", "if(s = CAST(x'61ff62' AS STRING), CAST(x'61fe62' AS STRING), s) AS s",
        "if(s > CAST(x'c3' AS STRING), concat(s, CAST(x'fe' AS STRING)), t) AS t", "st", "mk", "p",
    )  # fmt: skip
    shown = [
        "id", EXACT.format(c="s"), EXACT.format(c="t"), EXACT.format(c="st.a"),
        "transform(map_keys(mk), k -> hex(CAST(k AS BINARY)))", "p",
    ]  # fmt: skip
    truth = multiset(expected.selectExpr(*shown).collect())
    for _ in range(2):
        for path in PATHS:
            assert multiset(load(spark, table, path).selectExpr(*shown).collect()) == truth
        spark.sql(f"MERGE SPLITS '{table}'")
    changes = spark.read.format("indextables").option("readChangeFeed", "true")
    deleted = changes.option("startingVersion", 0).load(table).where("_change_type = 'delete'")
    assert {row[0] for row in deleted.selectExpr(EXACT.format(c="s")).distinct().collect()} == {
        "8081"
    }


def test_partition_values(spark: Any, tmp_path: Path):
    data = rows(spark).select("id", "s", "t")
    table = str(tmp_path / "table")
    data.write.format("indextables").partitionBy("s").save(table)
    views = make_views(spark, data.cache(), table, "broken_partitions")
    check(spark, views, f"SELECT id, {EXACT.format(c='s')}, {EXACT.format(c='t')} FROM {{t}}")
    check(spark, views, f"SELECT {EXACT.format(c='s')}, count(*) FROM {{t}} GROUP BY s")
    check(spark, views, f"SELECT {EXACT.format(c='max(s)')}, {EXACT.format(c='min(s)')} FROM {{t}}")
    for value in ("61", "80", "8081", "efbfbd", "c3"):
        literal = f"CAST(x'{value}' AS STRING)"
        for test in (f"s = {literal}", f"s < {literal}", f"contains(s, {literal})"):
            check(spark, views, f"SELECT id FROM {{t}} WHERE {test}")
    spark.sql(f"DELETE FROM indextables.`{table}` WHERE s = CAST(x'80' AS STRING)")
    left = spark.read.format("indextables").load(table)
    assert left.count() == data.where("s IS NULL OR s <> CAST(x'80' AS STRING)").count()


def test_primary_keys(spark: Any, tmp_path: Path):
    table = str(tmp_path / "table")
    keys = rows(spark).where("s IS NOT NULL").selectExpr("s", "id").groupBy("s").max("id")
    keys = keys.selectExpr("s", "`max(id)` AS id").cache()
    for add in (0, 1000):
        writer = keys.selectExpr("s", f"id + {add} AS id").write.format("indextables")
        writer.option("primary-key", "s").mode("append").save(table)
    shown = (EXACT.format(c="s"), "id")
    truth = multiset(keys.selectExpr(EXACT.format(c="s"), "id + 1000").collect())
    for path in PATHS:
        found = load(spark, table, path)
        assert multiset(found.selectExpr(*shown).collect()) == truth
        one = found.where("s = CAST(x'8081' AS STRING)").selectExpr(*shown).collect()
        assert [row[0] for row in one] == ["8081"]
