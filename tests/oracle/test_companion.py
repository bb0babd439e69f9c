"""A companion answers as Spark does over its source, however much of the source is indexed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.oracle.paths import check, make_views
from tests.oracle.queries import statements
from tests.oracle.rows import write_parquet

FAST = int(os.environ.get("ORACLE_CASES", "150"))
# how much of the source is indexed: all, the first of two writes, only an empty folder
STATES = ["indexed", "behind", "pending"]


@pytest.fixture(scope="module", params=STATES)
def views(request: Any, spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    """Views of the source, and of its companion read by the planner and by executors."""
    folder: Path = tmp_path_factory.mktemp(f"companion-{request.param}")
    write_parquet(folder / "rows", rows=400, seed=1)
    source = folder / "source"
    # ids stay unique: statements order by them, and ties would make answers ambiguous
    rows = spark.read.parquet(str(folder / "rows"))
    frames = [rows.where("id < 200"), rows.where("id >= 200")]
    frames[0].repartition(3).write.parquet(str(source))
    build = (
        f"BUILD INDEXTABLES COMPANION FOR PARQUET '{source}' "
        f"INDEXING MODES ('text': 'text') AT LOCATION '{folder / 'index'}'"
    )
    if request.param == "pending":
        # every file has been rewritten since
        spark.sql(build).collect()
        frames[0].repartition(2).write.mode("overwrite").parquet(str(source))
    elif request.param == "behind":
        spark.sql(build).collect()
    frames[1].repartition(2).write.mode("append").parquet(str(source))
    if request.param == "indexed":
        spark.sql(build).collect()
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    truth = spark.read.parquet(str(source))
    return make_views(spark, truth, str(folder / "index"), "companion")


COMMON = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@pytest.mark.spark
@settings(max_examples=FAST // len(STATES), **COMMON)
@given(statement=statements())
def test_generated_statements_agree_with_the_source(
    spark: Any, views: dict[str, str], statement: str
):
    check(spark, views, statement)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.spark
@settings(max_examples=1000, **{**COMMON, "derandomize": False})
@given(statement=statements())
def test_many_generated_statements_agree_with_the_source(
    spark: Any, views: dict[str, str], statement: str
):
    check(spark, views, statement)
