"""The wheel is the product: everything a user needs is in it."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> set[str]:
    """The files of a freshly built wheel; the engine itself is compiled already."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        ["make", "--no-print-directory", "wheel", f"DIST={out}"],
        cwd=ROOT, check=True, capture_output=True, env={**os.environ, "MAKEFLAGS": ""},
    )  # fmt: skip
    (wheel,) = out.glob("indextables-*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize(
    "name",
    [
        "indextables/__init__.py",
        "indextables/_native.abi3.so",
        "indextables/_native.pyi",
        "indextables/jars/indextables-hooks.jar",
        "indextables/py.typed",
        "pyspark_indextables/__init__.py",
    ],
)
def test_the_wheel_holds(names: set[str], name: str):
    assert name in names


def test_the_wheel_holds_nothing_of_the_tests(names: set[str]):
    assert not [name for name in names if name.startswith(("tests", "benches"))]
