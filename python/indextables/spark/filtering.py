"""A request's filters, planned for the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import read as keys
from indextables.engine.query import parse_query
from indextables.expr.predicate import parse_predicate
from indextables.expr.values import kind_of
from indextables.plan.filters import FilterPlan, plan_filters

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.spark.request import Request
    from indextables.spark.warm import OpenTable


def filters_of(request: Request, table: OpenTable) -> FilterPlan:
    """What becomes of the predicates Spark offers."""
    predicates = [parse_predicate(value) for value in request.body.get("predicates") or []]
    most = table.settings.get(keys.MAX_UNQUALIFIED_FIELDS)
    return plan_filters(predicates, table.columns, most, _check(table), request.time_zone)


def _check(table: OpenTable) -> Callable[[str, list[str]], object]:
    """Parses search texts against the table's columns, so that errors come before any task."""
    fields = [
        {"name": c.name, "type": kind_of(c.type), "role": c.role, "record": c.record}
        for c in table.columns.searchable
    ]
    return lambda text, defaults: parse_query(text, fields, defaults)
