"""The table, the rows and the exact plan of a read in plain Python."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from indextables.api.arguments import (
    Names,
    Path,
    Timestamp,
    options_of,
    path_of,
    text_of,
    timestamp_of,
    version_of,
    weights_of,
)
from indextables.config.settings import resolve
from indextables.engine.query import Fields, at_time, parse_query, plain_query
from indextables.errors import error
from indextables.expr.predicate import ALL_FIELDS, Predicate, Search, map_searches
from indextables.expr.where import parse_where
from indextables.log.history import parse_timestamp
from indextables.log.open_logs import log_at
from indextables.read.request import ScanRequest
from indextables.read.scan import Scan, plan_scan
from indextables.read.table import OpenTable, open_for_reading
from indextables.storage import find_location


def open_table(
    path: Path,
    options: Mapping[str, str],
    version: int | None = None,
    timestamp: Timestamp | None = None,
) -> OpenTable:
    """The table at a path, at its newest version or an older one."""
    options = options_of(options)
    given = resolve(options)
    log = log_at(find_location(path_of(path), given), given)
    at = None if timestamp is None else parse_timestamp(timestamp_of(timestamp))
    snapshot = log.snapshot(None if version is None else version_of(version), at)
    settings = resolve(options, table=snapshot.metadata.configuration)
    past = version is not None or timestamp is not None
    return open_for_reading(log, snapshot, settings, past=past)


MODES = ("query", "simple")


def search_text(query: str, mode: str = "query", fields: Mapping[str, float] | Names = ()) -> str:
    """The query of a text in one of `MODES`, in these fields with their weights."""
    if mode not in MODES:
        raise error("SEARCH_MODE", mode=mode, allowed=", ".join(MODES))
    query = text_of(query, "query")
    text = plain_query(query) if mode == "simple" else query
    if not fields:
        return text
    weights = weights_of(fields)
    known = Fields([{"name": name, "role": "text"} for name in weights])
    parse_query(text, known, list(weights))  # alone it must be a query, too
    listed = ", ".join(f"{_escaped(name)}^{weight:f}" for name, weight in weights.items())
    return f"{{{listed}}}:({text})"


def _escaped(name: str) -> str:
    return "".join(c if c.isalnum() or c in "_." else f"\\{c}" for c in name)


def query_now(query: str) -> str:
    """The query with timestamps relative to now evaluated at the time of this call."""
    return at_time(text_of(query, "query"), time.time_ns() // 1000)


def predicates_of(
    table: OpenTable, where: str | None, query: str | None = None
) -> tuple[Predicate, ...]:
    """The predicates of a search of all columns and an SQL condition, both optional."""
    searches = () if query is None else (Search("any", ALL_FIELDS, query_now(query)),)
    if where is None:
        return searches
    condition = parse_where(text_of(where, "where"), table.snapshot.schema)
    return (*searches, map_searches(condition, lambda s: replace(s, query=query_now(s.query))))


def plan_exactly(table: OpenTable, request: ScanRequest) -> Scan:
    """An exact plan: unlike in Spark, nothing filters its rows again."""
    found = plan_scan(table, request)
    if not found.plan.filters.exact:
        raise error("CONDITION_NOT_EXACT")
    return found
