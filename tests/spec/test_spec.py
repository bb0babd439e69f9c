"""Every spec file, at every door, on a folder and on object stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spec.places import Bucket, Folder
from tests.spec.runner import LocalDoor, Run, SparkDoor

FILES = sorted(Path(__file__).parent.glob("*.slt"))
# a selection: the other files test different commands, not different locations
CORE = [file for file in FILES if file.stem in ("caches", "checkpoint", "merge_splits", "prewarm")]
# Azurite does not accept older timestamps
AZURE = [file for file in FILES if file.stem in ("checkpoint", "merge_splits", "restore")]
by_file = {"ids": lambda file: file.stem}


@pytest.mark.parametrize("by_name", [False, True], ids=["path", "name"])
@pytest.mark.parametrize("file", FILES, **by_file)
def test_spec_without_spark(file, by_name, tmp_path):
    Run(file, LocalDoor(Folder(tmp_path), tmp_path, by_name=by_name)).all()


@pytest.mark.parametrize("file", FILES, **by_file)
def test_spec_on_s3_without_spark(file, s3, tmp_path):
    Run(file, LocalDoor(Bucket(s3), tmp_path, by_name=False)).all()


@pytest.mark.parametrize("file", AZURE, **by_file)
def test_spec_on_azure_without_spark(file, azure, tmp_path):
    Run(file, LocalDoor(Bucket(azure), tmp_path, by_name=False)).all()


@pytest.mark.spark
@pytest.mark.parametrize("by_name", [False, True], ids=["path", "name"])
@pytest.mark.parametrize("file", FILES, **by_file)
def test_spec_through_spark(file, by_name, tmp_path, spark):
    Run(file, SparkDoor(Folder(tmp_path), tmp_path, spark, by_name=by_name)).all()


@pytest.mark.spark
@pytest.mark.parametrize("file", CORE, **by_file)
def test_spec_on_s3_through_spark(file, tmp_path, spark, s3):
    Run(file, SparkDoor(Bucket(s3), tmp_path, spark, by_name=False)).all()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("file", [file for file in FILES if file not in CORE], **by_file)
def test_the_rest_of_the_spec_on_s3_through_spark(file, tmp_path, spark, s3):
    Run(file, SparkDoor(Bucket(s3), tmp_path, spark, by_name=True)).all()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("file", AZURE, **by_file)
def test_spec_on_azure_through_spark(file, tmp_path, spark, azure):
    Run(file, SparkDoor(Bucket(azure), tmp_path, spark, by_name=True)).all()
