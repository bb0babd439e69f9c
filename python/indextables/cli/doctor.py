"""`indextables doctor`: check that everything needed works here."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from indextables import __version__
from indextables.cli.options import AsJson
from indextables.cli.output import show
from indextables.cli.progress import waiting
from indextables.errors import IndexTablesError, error

_OLDEST_JAVA = 17
_JAVA_VERSION = re.compile(r'version "(\d+)')
_LIBRARIES = ("pyarrow", "pyroaring", "numpy")


@dataclass(frozen=True)
class Finding:
    """The result of one check: ok, failed or skipped."""

    check: str
    status: str
    detail: str
    hint: str = ""


def doctor(
    with_spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Check Java and Spark too.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Check versions, Java, Spark and the jar, and do a round trip."""
    findings = []
    for name, run in _checks(with_spark=with_spark):
        with waiting(f"checking {name}"):
            findings.append(_examine(name, run))
    show(pa.Table.from_pylist([asdict(f) for f in findings]), as_json=as_json)
    if any(finding.status == "failed" for finding in findings):
        raise typer.Exit(1)


def _checks(*, with_spark: bool) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "python", lambda: f"{platform.python_version()} on {platform.machine()}"
    yield "package", _package
    yield "round trip without Spark", _local_round_trip
    if with_spark:
        yield "java", _java
        yield "pyspark", _pyspark
        yield "jar", _jar
        yield "round trip with Spark", _spark_round_trip


def _examine(name: str, run: Callable[[], str]) -> Finding:
    try:
        return Finding(name, "ok", run())
    except IndexTablesError as failure:
        return Finding(name, "failed", failure.message, failure.hint)
    except Exception as failure:  # noqa: BLE001 (whatever is broken is the finding)
        return Finding(name, "failed", f"{type(failure).__name__}: {failure}")


def _package() -> str:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES]
    return ", ".join([f"indextables {__version__}", *versions])


def _local_round_trip() -> str:
    from indextables.api.write import write

    rows = pa.table({"id": [1, 2], "text": ["all is well", "not a word"]})
    with tempfile.TemporaryDirectory(prefix="indextables-doctor-") as folder:
        table = write(rows, f"{folder}/table", options={"indexing.typemap.text": "text"})
        found = table.search("well", ["id"])
    if found["id"].to_pylist() != [1]:
        raise error("INTERNAL", detail=f"the round trip found {found.to_pylist()}")
    return "wrote and searched"


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    if found is None or not Path(found).is_file():
        raise error("JAVA_MISSING", found=f"no `{found}`" if found else "no `java` on the path")
    # the one Spark would start
    ran = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = _JAVA_VERSION.search(ran.stderr)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        raise error("JAVA_MISSING", found=f"`{found}` is {ran.stderr.splitlines()[0]}")
    return f"{version[1]} at {found}"


def _pyspark() -> str:
    from indextables.spark.session import require_pyspark

    return require_pyspark()


def _jar() -> str:
    from indextables.spark.session import spark_conf

    return spark_conf()["spark.jars"]


def _spark_round_trip() -> str:
    from indextables.spark.shell import round_trip

    with tempfile.TemporaryDirectory(prefix="indextables-doctor-") as folder:
        return round_trip(f"{folder}/table", {"spark.sql.warehouse.dir": f"{folder}/warehouse"})
