"""Every spec file, at every door."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.spec.runner import LocalDoor, Run, SparkDoor

FILES = sorted(Path(__file__).parent.glob("*.slt"))


@pytest.mark.parametrize("by_name", [False, True], ids=["path", "name"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_spec_without_spark(file, by_name, tmp_path):
    Run(file, LocalDoor(tmp_path, by_name=by_name)).all()


@pytest.mark.spark
@pytest.mark.skipif(
    find_spec("indextables.spark.commands") is None, reason="commands are not wired into Spark yet"
)
@pytest.mark.parametrize("by_name", [False, True], ids=["path", "name"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_spec_through_spark(file, by_name, tmp_path, spark):
    Run(file, SparkDoor(tmp_path, spark, by_name=by_name)).all()
