"""What plain Python asks of a table: where it is, which rows, and an exact plan for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config.settings import resolve
from indextables.errors import error
from indextables.expr.predicate import ALL_FIELDS, Predicate, Search
from indextables.expr.where import parse_where
from indextables.log import open_log
from indextables.log.history import parse_timestamp
from indextables.read.companion import open_for_reading
from indextables.read.scan import Scan, plan_scan
from indextables.read.table import OpenTable
from indextables.storage import find_location, open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

from indextables.read.request import ScanRequest


def open_table(
    path: str,
    options: Mapping[str, str],
    version: int | None = None,
    timestamp: str | None = None,
) -> OpenTable:
    """The table at a path, at its newest version or an older one."""
    given = resolve(options)
    log = open_log(open_store(find_location(path, given), given), given)
    at = None if timestamp is None else parse_timestamp(timestamp)
    snapshot = log.snapshot(version, at)
    settings = resolve(options, table=snapshot.metadata.configuration)
    past = version is not None or timestamp is not None
    return open_for_reading(log, snapshot, settings, past=past)


def predicates_of(
    table: OpenTable, where: str | None, query: str | None = None
) -> tuple[Predicate, ...]:
    """A search of all columns and a condition in SQL, either of which may be left out."""
    searches = () if query is None else (Search("any", ALL_FIELDS, query),)
    return (*searches, *((parse_where(where, table.snapshot.schema),) if where else ()))


def plan_exactly(table: OpenTable, request: ScanRequest) -> Scan:
    """A plan whose rows are the answer: unlike Spark, nothing here filters them again."""
    found = plan_scan(table, request)
    if not found.plan.filters.exact:
        raise error("CONDITION_NOT_EXACT")
    return found
