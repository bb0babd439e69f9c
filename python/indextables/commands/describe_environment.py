"""DESCRIBE ENVIRONMENT: the settings and versions at work, secrets hidden."""

from __future__ import annotations

import os
import platform
import re
import socket
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from indextables import __version__
from indextables.commands.grammar import DESCRIBE, Command, Rule, columns
from indextables.config.secret import REDACTED

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context

_SECRET = re.compile(
    r"secret|key|password|token|credential|session|sas[.]|connection.?string|proxy", re.IGNORECASE
)
_PACKAGES = ("pyspark", "pyarrow", "obstore", "numpy", "pyroaring")
_OUTPUT = columns(
    "host string, role string, property_type string, property_name string, property_value string"
)


@dataclass(frozen=True)
class DescribeEnvironment(Command):
    """Show configuration and versions."""


def run_describe_environment(context: Context) -> list[Row]:
    """One row per property of the driver."""
    host = socket.gethostname()
    found: list[tuple[str, str, str | None]] = []
    for name, value in sorted(context.properties().items()):
        kind = "hadoop" if name.startswith("spark.hadoop.") else "spark"
        found.append((kind, name.removeprefix("spark.hadoop."), value))
    found += [("native_memory", name, value) for name, value in _process()]
    return [
        {
            "host": host,
            "role": "driver",
            "property_type": kind,
            "property_name": name,
            "property_value": REDACTED if _SECRET.search(name) else value,
        }
        for kind, name, value in found
    ]


def _process() -> list[tuple[str, str]]:
    """What the engine runs in: versions, cores, and the memory the process has used."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
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


def run(_: DescribeEnvironment, context: Context) -> list[Row]:
    """Describe the environment."""
    return run_describe_environment(context)


RULES = (Rule(DescribeEnvironment, f"{DESCRIBE} ENVIRONMENT", (), _OUTPUT, run),)
