"""The two ways a table is read: by the planner itself, and by tasks on executors."""

from __future__ import annotations

from typing import Any

PATHS: dict[str, dict[str, str]] = {
    "planner": {"read.local.maxBytes": "9223372036854775807", "read.local.maxRows": "2000000000"},
    "executors": {"read.local.enabled": "false"},
}


def load(spark: Any, table: str, path: str) -> Any:
    """The table, read one way."""
    frame = spark.read.format("indextables").options(**PATHS[path]).load(table)
    shown = frame._jdf.queryExecution().executedPlan().toString()
    expected = {"planner": "answered by: planner", "executors": "answered by: tasks"}[path]
    assert expected in shown, shown
    return frame
