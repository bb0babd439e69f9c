"""Conditional aggregates give Spark's answers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oracle.paths import PATHS, check, write_views

CONDITIONS = [
    "i32 > 0",
    "word LIKE 'a%' OR word IS NULL",
    "NOT (flag AND i64 < 3)",
    "word IN ('a', 'b') AND day >= '2000-01-01'",
    "f64 > 1.5",
]
FUNCTIONS = [
    "count_if({c})",
    "count(*) FILTER (WHERE {c})",
    "count(word) FILTER (WHERE {c})",
    "sum(i32) FILTER (WHERE {c}), avg(i16) FILTER (WHERE {c}), min(word) FILTER (WHERE {c})",
    "max(day) FILTER (WHERE {c}), max(f64) FILTER (WHERE {c}), count(*), max(raw)",
    "bool_and({c}), bool_or({c}), every({c}), some({c}), any({c})",
    "count(CASE WHEN {c} THEN 1 END), max(CASE WHEN {c} THEN i16 END)",
    "sum(CASE WHEN {c} THEN i32 END), avg(CASE WHEN {c} THEN i8 ELSE NULL END), count(*)",
    "sum(CASE WHEN {c} THEN small END), sum(if({c}, i16, NULL))",
]
SHAPES = [
    "SELECT {f} FROM {t} /* AS a0 */",
    "SELECT flag, {f} FROM {t} GROUP BY flag",
    "SELECT word, {f} FROM {t} WHERE id % 3 > 0 AND i32 <> 7 GROUP BY word HAVING count(*) > 1",
    "SELECT {f} FROM {t} WHERE id < 0 /* AS a0 */",
]
# Spark computes results that depend on the order of addition
MOMENTS = ["stddev(i32)", "var_pop(f64)", "covar_samp(i32, i64)", "corr(i16, f64)", "skewness(i8)"]


@pytest.fixture(scope="module")
def views(spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    """Views of the rows in Parquet, and of a table that is read on both paths."""
    return write_views(spark, tmp_path_factory.mktemp("conditions"), rows=300, seed=29)


@pytest.mark.parametrize("shape", SHAPES)
def test_conditional_functions_equal_those_of_parquet(spark: Any, views: Any, shape: str) -> None:
    for at, function in enumerate(FUNCTIONS):
        for condition in CONDITIONS[at % 2 :: 2]:
            check(spark, views, shape.replace("{f}", function.replace("{c}", condition)))


def explained(spark: Any, statement: str) -> str:
    found: str = spark.sql(f"EXPLAIN {statement}").head()[0]
    return found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_conditional_functions_come_from_the_index(
    spark: Any, views: Any, path: str, function: str
) -> None:
    aggregate = function.replace("{c}", "word LIKE 'a%'")
    shown = explained(spark, f"SELECT flag, {aggregate} FROM {views[path]} GROUP BY flag")
    assert "pushed aggregates: [" in shown, shown
    assert "group by [flag]" in shown, shown


@pytest.mark.parametrize("path", PATHS)
def test_what_the_index_cannot_answer_stays_with_spark(spark: Any, views: Any, path: str) -> None:
    distinct = "count(DISTINCT i8) FILTER (WHERE i32 > 0)"
    for aggregate in ("count_if(length(word) + i8 > 3)", distinct):
        check(spark, views, f"SELECT flag, {aggregate} FROM {{t}} GROUP BY flag")
    for function in MOMENTS:
        shown = explained(spark, f"SELECT {function} FROM {views[path]}")
        wanted = function.partition("(")[2].rstrip(")")
        assert f"columns: [{wanted}]" in shown, shown
        assert "pushed aggregates" not in shown
