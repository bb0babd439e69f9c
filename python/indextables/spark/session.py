"""Configure a Spark session for IndexTables with one call."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Mapping

JAR = Path(__file__).resolve().parents[1] / "jars" / "indextables-hooks.jar"
EXTENSION = "io.indextables.extensions.IndexTablesSparkExtensions"
CATALOG = "org.apache.spark.sql.indextables.PathCatalog"
_OLDEST, _NEWEST = (4, 0), (4, 3)

# what Spark redacts in its UI and event log by default, and our keys that it would show
_REDACTED = "(?i)secret|password|token|access[.]?key"
# settings have our prefix, options of a reader or writer need not
_OURS = (
    r"(?i:(spark\.indextables\.|^(aws|azure|gcp|cloud|iceberg|databricks)\.).*"
    r"(key|connectionString|proxy|credential$)|(^|spark\.indextables\.)companion\.(parquet|aws))"
)

Builder = TypeVar("Builder")


def configure(builder: Builder) -> Builder:
    """Add the jar, the SQL extension and the path catalog to a `SparkSession.builder`.

    Jars and extensions that the builder already has are kept. A builder with `.remote(...)` is
    returned unchanged: for Spark Connect, configure the server (see `spark_conf`).

    >>> spark = configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    """
    require_pyspark()
    given = _options(builder)
    if given.get("spark.remote"):
        return builder
    _check_running()
    _name_interpreter(given)
    target: Any = builder
    for key, value in spark_conf(given).items():
        target = target.config(key, value)
    return builder


def spark_conf(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the settings a session needs, also for spark-submit and servers."""
    given = given or {}
    if not JAR.is_file():
        raise error("JAR_MISSING", path=JAR)
    return {
        "spark.jars": _joined(given.get("spark.jars"), str(JAR)),
        "spark.sql.extensions": _joined(given.get("spark.sql.extensions"), EXTENSION),
        "spark.sql.catalog.indextables": given.get("spark.sql.catalog.indextables", CATALOG),
        "spark.redaction.regex": f"{given.get('spark.redaction.regex', _REDACTED)}|{_OURS}",
    }


def check_version(version: str) -> None:
    """Reject a Spark version that the hooks do not support, before its classes fail to link."""
    number = tuple(int(part) for part in version.split(".")[:2])
    if not _OLDEST <= number <= _NEWEST:
        supported = f"{'.'.join(map(str, _OLDEST))} to {'.'.join(map(str, _NEWEST))}"
        raise error("SPARK_VERSION", version=version, supported=supported)


def require_pyspark() -> str:
    """Return the version of pyspark, which must be installed and supported."""
    try:
        from pyspark import __version__ as version
    except ImportError:
        raise error("SPARK_MISSING") from None
    check_version(version)
    return str(version)


def _options(builder: Any) -> Mapping[str, str]:
    """Return the builder's options; pyspark has no public accessor."""
    options: Mapping[str, str] = getattr(builder, "_options", {})
    return options


def _check_running() -> None:
    """Fail if a session is already running, because it cannot load a jar."""
    from pyspark import SparkContext

    running = SparkContext._active_spark_context  # noqa: SLF001 (as pyspark's own builder does)
    if running is not None and JAR.name not in running.getConf().get("spark.jars", ""):
        raise error("SESSION_RUNNING")


def _name_interpreter(given: Mapping[str, str]) -> None:
    """Run the planner and local Python workers with this interpreter.

    Spark would start `python3`, which may be another one without this package, or the notebook
    that PYSPARK_DRIVER_PYTHON may name. On a cluster the executors have their own interpreters, so
    nothing is assumed there.
    """
    is_local = given.get("spark.master", "local").startswith("local")
    launched = "PYSPARK_GATEWAY_PORT" in os.environ
    named = "PYSPARK_PYTHON" in os.environ or given.get("spark.pyspark.python")
    if launched:
        return
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if is_local and not named:
        os.environ["PYSPARK_PYTHON"] = sys.executable


def _joined(given: str | None, ours: str) -> str:
    parts = [part.strip() for part in (given or "").split(",") if part.strip()]
    return ",".join(parts if ours in parts else [*parts, ours])
