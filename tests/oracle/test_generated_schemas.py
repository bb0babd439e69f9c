"""Generated schemas, rows and partitionings: every answer equals Spark over Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from tests.oracle.paths import check, make_views
from tests.oracle.shapes import Shape, generate, statements


def _views(spark: Any, shape: Shape, folder: Path) -> dict[str, str]:
    """Views of the rows in Parquet, and of a table read by the planner and by executors."""
    (folder / "pq").mkdir()
    step = -(-shape.rows.num_rows // shape.files) or 1
    for number in range(shape.files):
        part = shape.rows.slice(number * step, step)
        pq.write_table(part, folder / "pq" / f"{number}.parquet", store_decimal_as_integer=False)
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    data = spark.read.parquet(str(folder / "pq"))
    writer = data.write.format("indextables").partitionBy(
        *(f"`{name}`" for name in shape.partition_by)
    )
    for name in shape.texts:
        writer = writer.option(f"indexing.typemap.{name}", "text")
    writer.save(str(folder / "table"))
    return make_views(spark, data, str(folder / "table"), "shape")


def _agree(spark: Any, seed: int, folder: Path, examples: int) -> None:
    shape = generate(seed)
    views = _views(spark, shape, folder)

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(statement=statements(shape))
    @example(statement="SELECT * FROM {t}")
    def agree(statement: str) -> None:
        check(spark, views, statement)

    agree()


@pytest.mark.spark
@pytest.mark.parametrize("seed", [*range(6), 100, 106])
def test_generated_tables_agree_with_parquet(spark: Any, seed: int, tmp_path: Path):
    _agree(spark, seed, tmp_path, 8)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(100, 180))
def test_many_generated_tables_agree_with_parquet(spark: Any, seed: int, tmp_path: Path):
    _agree(spark, seed, tmp_path, 12)
