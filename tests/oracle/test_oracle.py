"""Every answer equals Spark over Parquet on the same rows, on both execution paths."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.oracle.paths import check, make_views
from tests.oracle.queries import statements
from tests.oracle.rows import write_parquet

FAST = int(os.environ.get("ORACLE_CASES", "200"))
LAYOUTS = {"plain": [], "partitioned": ["flag", "i8"], "by_word": ["word"]}


@pytest.fixture(scope="module", params=LAYOUTS)
def views(request: Any, spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    """Views of the rows in Parquet, and of a table read by the planner and by executors."""
    folder: Path = tmp_path_factory.mktemp(f"oracle-{request.param}")
    write_parquet(folder / "pq", rows=400, seed=len(request.param))
    data = spark.read.parquet(str(folder / "pq"))
    # Spark prunes by Parquet statistics, which ignore NaN: read every row group
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    writer = data.write.format("indextables").option("indexing.typemap.text", "text")
    writer.partitionBy(*LAYOUTS[request.param]).save(str(folder / "table"))
    return make_views(spark, data, str(folder / "table"), "oracle")


COMMON = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@pytest.mark.spark
@settings(max_examples=FAST // len(LAYOUTS), **COMMON)
@given(statement=statements())
def test_generated_statements_agree_with_parquet(spark: Any, views: dict[str, str], statement: str):
    check(spark, views, statement)


@pytest.mark.slow
@pytest.mark.spark
@settings(max_examples=2000 // len(LAYOUTS), **{**COMMON, "derandomize": False})
@given(statement=statements())
def test_many_generated_statements_agree_with_parquet(
    spark: Any, views: dict[str, str], statement: str
):
    check(spark, views, statement)
