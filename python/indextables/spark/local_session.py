"""A Spark session of this process alone: for the demo, `indextables sql` and `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.spark.session import configure

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
}


def local_session(name: str, conf: Mapping[str, str], master: str = "local[*]") -> Any:
    """A ready session that says little."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(f"indextables {name}")
    for key, value in {**_QUIET, **conf}.items():
        builder = builder.config(key, value)
    return configure(builder).getOrCreate()
