"""The wheel contains everything a user needs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "jvm"))
import build  # noqa: E402


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> set[str]:
    """The files of a newly built wheel; unoptimized, the engine compiles in a tenth of the time."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        ["make", "--no-print-directory", "wheel", "PROFILE=dev", f"DIST={out}"],
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
        "indextables/page/static/page.css",
        "indextables/page/static/page.js",
        "indextables/py.typed",
        "pyspark_indextables/__init__.py",
    ],
)
def test_the_wheel_holds(names: set[str], name: str):
    assert name in names


def test_the_wheel_holds_nothing_of_the_tests(names: set[str]):
    assert not [name for name in names if name.startswith(("tests", "benches"))]


def test_the_jar_is_of_the_present_sources(tmp_path):
    jar = ROOT / "python" / "indextables" / "jars" / "indextables-hooks.jar"
    assert build.is_fresh(jar)
    with zipfile.ZipFile(jar) as packed, zipfile.ZipFile(tmp_path / "old.jar", "w") as old:
        for name in packed.namelist():
            content = b"other" if name.endswith(".sha256") else packed.read(name)
            old.writestr(name, content)
    assert not build.is_fresh(tmp_path / "old.jar")
    assert not build.is_fresh(tmp_path / "absent.jar")
