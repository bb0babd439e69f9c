"""A request's filters, planned for the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import read as keys
from indextables.expr.predicate import parse_predicate
from indextables.plan.filters import FilterPlan, plan_filters
from indextables.read.columns import query_check

if TYPE_CHECKING:
    from indextables.read.table import OpenTable
    from indextables.spark.request import Request


def filters_of(request: Request, table: OpenTable) -> FilterPlan:
    """What becomes of the predicates Spark offers."""
    predicates = [parse_predicate(value) for value in request.body.get("predicates") or []]
    most = table.settings.get(keys.MAX_UNQUALIFIED_FIELDS)
    return plan_filters(
        predicates, table.columns, most, query_check(table.columns), request.time_zone
    )
