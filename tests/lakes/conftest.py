"""A session of the oldest Spark with Delta's and Iceberg's own connectors: `make test-lakes`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

LAKES = os.environ.get("INDEXTABLES_LAKES")
# the connectors require one version of Spark, which `make test-lakes` installs
collect_ignore_glob = [] if LAKES else ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One session that reads and writes Delta and Iceberg tables."""
    from pyspark.sql import SparkSession

    import indextables

    folder = tmp_path_factory.mktemp("lakes")
    extensions = (
        "io.delta.sql.DeltaSparkSessionExtension",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    )
    builder = SparkSession.builder.master("local[2]").appName("indextables lakes")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.log.level": os.environ.get("INDEXTABLES_TEST_LOG", "OFF"),
        "spark.sql.shuffle.partitions": "2",
        # Delta's default is fifty tasks for each state of a table's log
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
        "spark.jars": ",".join(str(jar) for jar in sorted(Path(LAKES).glob("*.jar"))),
        "spark.sql.extensions": ",".join(extensions),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "iceberg"),
        "spark.sql.catalog.ix": "io.indextables.catalog.IndexTablesCatalog",
        # tests create tables with the same name and different companions
        "spark.indextables.catalog.cache.ttl.minutes": "0",
    }.items():
        builder = builder.config(key, value)
    session = indextables.configure(builder).getOrCreate()
    session.lake = str(folder / "iceberg")
    yield session
    session.stop()
