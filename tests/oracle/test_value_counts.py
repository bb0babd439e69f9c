"""Percentiles, medians and distinct combinations, computed from counts of values."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.oracle.paths import PATHS, check, write_views

NUMBERS = ["i8", "i16", "i32", "i64", "f32", "f64", "small", "big"]
PERCENTILES = [
    "percentile({c}, 0.5)",
    "median({c})",
    "percentile({c}, array(0.0, 0.1, 0.9, 1.0))",
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY {c} DESC)",
    "percentile({c}, 0.3), median({c}), count(*), count(word), min(word), max(i32)",
]
DISTINCTS = [
    "count(DISTINCT word, i32)",
    "count(DISTINCT flag, f64, day)",
    "count(DISTINCT flag, f64), count(DISTINCT flag, f64) + 1, count(*), count(raw), max(i64)",
    "count(DISTINCT word, word)",
]
SHAPES = [
    "SELECT {f} FROM {t}",
    "SELECT flag, {f} FROM {t} GROUP BY flag",
    "SELECT {f} FROM {t} WHERE i32 > 0 AND word LIKE 'a%'",
    "SELECT {f} FROM {t} WHERE id < 0",
    "SELECT word, flag, {f} FROM {t} WHERE id % 2 = 0 GROUP BY word, flag HAVING count(*) > 1",
]


@pytest.fixture(scope="module")
def views(spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    """Views of the rows in Parquet, and of a table that is read on both paths."""
    return write_views(spark, tmp_path_factory.mktemp("value-counts"), rows=400, seed=23)


@pytest.mark.parametrize("shape", SHAPES)
def test_percentiles_equal_those_of_parquet(spark: Any, views: Any, shape: str) -> None:
    for number, function in enumerate(PERCENTILES):
        for column in NUMBERS[number % 2 :: 2]:
            statement = shape.replace("{f}", function.replace("{c}", column))
            check(spark, views, statement + " /* AS a0 */")


@pytest.mark.parametrize("shape", SHAPES)
def test_distinct_combinations_equal_those_of_parquet(spark: Any, views: Any, shape: str) -> None:
    for function in DISTINCTS:
        check(spark, views, shape.replace("{f}", function))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("function", ["median(i32)", "count(DISTINCT flag, word)"])
def test_counts_of_values_come_from_the_index(
    spark: Any, views: Any, path: str, function: str
) -> None:
    shown = spark.sql(f"EXPLAIN SELECT day, {function} FROM {views[path]} GROUP BY day").head()[0]
    assert re.search(r"pushed aggregates: \[(COUNT\(\*\))?\] group by \[day, ", shown), shown
