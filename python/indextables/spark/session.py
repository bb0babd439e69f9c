"""One call that makes a Spark session ready for IndexTables."""

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

# what Spark itself hides in its UI and event log, and the keys of ours that it would show
_REDACTED = "(?i)secret|password|token|access[.]?key"
# settings have our prefix, options of a reader or writer need not
_OURS = (
    r"(?i:(spark\.indextables\.|^(aws|azure|gcp|cloud|iceberg|databricks)\.).*"
    r"(key|connectionString|proxy|credential$)|(^|spark\.indextables\.)companion\.parquet)"
)

Builder = TypeVar("Builder")


def configure(builder: Builder) -> Builder:
    """Add the jar, the SQL extension and the path catalog to a `SparkSession.builder`.

    Jars and extensions that the builder already has are kept. A builder with `.remote(...)` is
    returned as it is: for Spark Connect, the server is configured (see `spark_conf`).

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
    """The settings a session needs, joined to those given: also for spark-submit and servers."""
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
    """Refuse a Spark that the hooks were not made for, before its classes fail to link."""
    number = tuple(int(part) for part in version.split(".")[:2])
    if not _OLDEST <= number <= _NEWEST:
        supported = f"{'.'.join(map(str, _OLDEST))} to {'.'.join(map(str, _NEWEST))}"
        raise error("SPARK_VERSION", version=version, supported=supported)


def require_pyspark() -> str:
    """The version of pyspark, which must be there and one that the hooks were made for."""
    try:
        from pyspark import __version__ as version
    except ImportError:
        raise error("SPARK_MISSING") from None
    check_version(version)
    return str(version)


def _options(builder: Any) -> Mapping[str, str]:
    """What the builder was given so far; pyspark has no public way to ask."""
    options: Mapping[str, str] = getattr(builder, "_options", {})
    return options


def _check_running() -> None:
    """A running session cannot gain a jar: say so instead of failing later."""
    from pyspark import SparkContext

    running = SparkContext._active_spark_context  # noqa: SLF001 (as pyspark's own builder does)
    if running is not None and JAR.name not in running.getConf().get("spark.jars", ""):
        raise error("SESSION_RUNNING")


def _name_interpreter(given: Mapping[str, str]) -> None:
    """Let local workers run in this very interpreter, also when its environment is not activated.

    Spark would start `python3`, which may be another one without this package. On a cluster the
    executors have their own interpreters, so nothing is assumed there.
    """
    is_local = given.get("spark.master", "local").startswith("local")
    launched = "PYSPARK_GATEWAY_PORT" in os.environ
    named = "PYSPARK_PYTHON" in os.environ or given.get("spark.pyspark.python")
    if is_local and not launched and not named:
        os.environ["PYSPARK_PYTHON"] = sys.executable


def _joined(given: str | None, ours: str) -> str:
    parts = [part.strip() for part in (given or "").split(",") if part.strip()]
    return ",".join(parts if ours in parts else [*parts, ours])
