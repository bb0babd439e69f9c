"""One Spark session for all tests that need one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import indextables


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session as users get it: `configure` and nothing else that matters."""
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("indextables tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": os.environ.get("INDEXTABLES_TEST_LOG", "OFF"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
    }.items():
        builder = builder.config(key, value)
    session = indextables.configure(builder).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def table_path(tmp_path) -> str:
    """A path where no table is yet."""
    return str(tmp_path / "table")


@pytest.fixture(scope="session")
def golden() -> Path:
    """Documents of the wire, kept on both sides of it."""
    return Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def planner(spark):
    """Calls the planner the way the hooks do: `planner(operation, json_text)`."""
    rpc = spark._jvm.org.apache.spark.sql.indextables.Rpc

    def call(operation: str, text: str = "{}"):
        return rpc.call(operation, rpc.parse(text))

    return call
