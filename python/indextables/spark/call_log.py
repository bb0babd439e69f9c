"""Log calls of the planner process as lines of JSON."""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from indextables.config.monitoring import LOG_CALLS
from indextables.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.spark.request import Request


@lru_cache(maxsize=1)
def _logger() -> logging.Logger:
    """Write plain lines to standard error, which Spark collects."""
    logger = logging.getLogger("indextables.calls")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return logger


def log_call(
    operation: str, request: Request, answer: Mapping[str, Any], started_ns: int, ended_ns: int
) -> None:
    """Log a call, if the session enables it."""
    if LOG_CALLS.full_key not in request.session or not request.settings.get(LOG_CALLS):
        return
    failure = answer.get("error") or {}
    facts = {
        "time_unix_nano": started_ns,
        "name": f"indextables.planner.{operation}",
        "duration_ms": round((ended_ns - started_ns) / 1e6, 3),
        "application": request.app,
        "query": request.body.get("query"),
        "table": _table(request),
        "version": answer.get("version"),
        "error": failure.get("code"),
    }
    known = {key: value for key, value in facts.items() if value is not None}
    _logger().info("%s", json.dumps(known))


def _table(request: Request) -> str | None:
    try:
        return request.find_path()
    except IndexTablesError:
        return None
