"""Convert documents of the hooks to read requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.engine.query import at_time
from indextables.expr.aggregation import parse_aggregation, parse_order
from indextables.expr.predicate import Predicate, map_searches, parse_predicate
from indextables.read.columns import plan_predicates
from indextables.read.request import ScanRequest
from indextables.spark.prewarm import prewarm_of

if TYPE_CHECKING:
    from indextables.plan.filters import FilterPlan
    from indextables.read.table import OpenTable
    from indextables.spark.request import Request


def predicates_of(request: Request) -> tuple[Predicate, ...]:
    """The predicates that Spark offers; `now` in searches is the time of the statement."""
    now = request.now
    return tuple(
        map_searches(parse_predicate(value), lambda s: replace(s, query=at_time(s.query, now)))
        for value in request.body.get("predicates") or ()
    )


def _runtime(request: Request) -> tuple[Predicate, ...]:
    """Runtime filters: the keys of joins, except where the hooks only counted them."""
    given = request.body.get("runtime") or ()
    known = [value for value in given if "keys" not in value or "values" in value]
    return tuple(parse_predicate(value) for value in known)


def filters_of(request: Request, table: OpenTable) -> FilterPlan:
    """How the predicates that Spark offers are answered."""
    return plan_predicates(table, predicates_of(request), request.time_zone)


def scan_request(request: Request, table: OpenTable) -> ScanRequest:
    """The read request of a call."""
    body = request.body
    aggregation, output = body.get("aggregation"), pa.schema([])
    if aggregation is None and "wire" in body:  # the columns with their Arrow types
        output = request.schema("wire").to_arrow_schema()
    return ScanRequest(
        output=output,
        predicates=(*predicates_of(request), *_runtime(request)),
        aggregation=None if aggregation is None else parse_aggregation(aggregation),
        order=parse_order(body.get("order") or ()),
        limit=body.get("limit"),
        offset=body.get("offset") or 0,
        here=bool(body.get("complete")),
        time_zone=request.time_zone,
        ansi=request.ansi,
        prewarm=prewarm_of(table),
    )
