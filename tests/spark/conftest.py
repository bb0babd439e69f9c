"""What tests of the hooks need besides a session."""

from __future__ import annotations

from pathlib import Path

import pytest


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
