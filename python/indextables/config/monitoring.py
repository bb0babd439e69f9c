"""Keys of monitoring."""

from __future__ import annotations

from typing import Any

from indextables.config.option import BOOLEAN, Option, Scope

LOG_CALLS = Option(
    "log.calls",
    BOOLEAN,
    default=False,
    doc="Log every call of the planner process as one line of JSON to its standard error: "
    "operation, duration, table, version, Spark's id of the query, and the error if it failed.",
    group="Monitoring",
    scopes=(Scope.SESSION,),
)

OPTIONS: tuple[Option[Any], ...] = (LOG_CALLS,)
