"""Tables in HDFS through Spark need only Spark's Hadoop configuration."""

from __future__ import annotations

import pytest
from tests.stores.conftest import hadoop_cluster, hdfs

__all__ = ["hadoop_cluster", "hdfs"]
pytestmark = pytest.mark.spark


def test_the_configuration_of_spark_reaches_queries_and_tasks(spark, hdfs):
    url = f"{hdfs.root}/through-spark"
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    for key, value in hdfs.options.items():
        configuration.set(key, value)
    try:
        rows = spark.range(100).selectExpr("id", "concat('request ', id) AS message")
        for mode in ("errorifexists", "append"):
            rows.repartition(2).write.format("indextables").mode(mode).save(url)
        found = spark.read.format("indextables").load(url)
        assert found.count() == 200
        assert [row.message for row in found.where("id = 7").collect()] == ["request 7"] * 2
        merged = spark.sql(f"MERGE SPLITS '{url}'").collect()
        assert merged
        assert found.where("id >= 90").count() == 20
    finally:
        for key in hdfs.options:
            configuration.unset(key)
