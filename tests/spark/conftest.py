"""Fixtures for tests of the hooks."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def golden() -> Path:
    """Golden documents of the wire format, checked from both sides."""
    return Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def planner(spark):
    """Call the planner as the hooks do: `planner(operation, json_text)`."""
    rpc = spark._jvm.org.apache.spark.sql.indextables.Rpc

    def call(operation: str, text: str = "{}"):
        return rpc.call(operation, rpc.parse(text))

    return call
