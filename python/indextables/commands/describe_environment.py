"""DESCRIBE ENVIRONMENT: effective settings and versions, with secrets redacted."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from indextables import __version__
from indextables.commands.grammar import DESCRIBE, Command, Rule, columns
from indextables.commands.hosts import executor_hosts
from indextables.config.secret import REDACTED
from indextables.runtime.steps import HostProperties, Steps, ask_properties, run_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.read.table import Row
    from indextables.runtime.context import Context

_SECRET = re.compile(
    r"secret|key|password|token|credential|session|sas[.]|connection.?string|proxy", re.IGNORECASE
)
_PACKAGES = ("pyspark", "pyarrow", "numpy", "pyroaring")
_OUTPUT = columns(
    "host string, role string, property_type string, property_name string, property_value string"
)


@dataclass(frozen=True)
class DescribeEnvironment(Command):
    """Show configuration and versions."""


def run(_: DescribeEnvironment, context: Context) -> Steps[list[Row]]:
    """Return one row per property of the driver and of one executor per host, as each has it."""
    workers = executor_hosts(context) or context.executors()
    places = [worker.location for worker in workers]
    driver, *others = yield from ask_properties(places)
    answers = yield from run_tasks("environment", [{}] * len(workers), places)
    rows = _rows(socket.gethostname(), "driver", _listed(driver), _process())
    for answer, found in zip_longest(answers, others):
        if found is not None:
            rows += _rows(found.host, "worker", _listed(found), ())
        if answer is not None:
            rows += _rows(answer["host"], "worker", (), answer["process"])
    return rows


def _listed(found: HostProperties) -> list[tuple[str, str, str]]:
    return [
        (owner, name, value)
        for owner, properties in found.owners.items()
        for name, value in sorted(properties.items())
    ]


def run_environment_task(_: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the environment of a Python worker's engine."""
    return {"host": socket.gethostname(), "process": _process()}


def _rows(
    host: str,
    role: str,
    properties: Sequence[tuple[str, str, str]],
    process: Sequence[tuple[str, str]],
) -> list[Row]:
    found = [*properties, *(("native_memory", name, value) for name, value in process)]
    return [
        {
            "host": host,
            "role": role,
            "property_type": kind,
            "property_name": name,
            "property_value": REDACTED if _SECRET.search(name) else value,
        }
        for kind, name, value in found
    ]


def _process() -> list[tuple[str, str]]:
    """Describe the engine's environment: versions, cores and peak memory of the process."""
    import resource

    # kilobytes, but bytes on macOS
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    versions = [(f"{name}.version", _version(name)) for name in _PACKAGES]
    return [
        ("indextables.version", __version__),
        ("python.version", platform.python_version()),
        *versions,
        ("cores", str(os.cpu_count())),
        ("process.id", str(os.getpid())),
        ("peak_rss_bytes", str(peak)),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


RULES = (Rule(DescribeEnvironment, f"{DESCRIBE} ENVIRONMENT", (), _OUTPUT, run),)
