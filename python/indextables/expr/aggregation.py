"""Aggregations and sort orders as values: what a query requests besides its predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indextables.expr.predicate import Expr, parse_expression


@dataclass(frozen=True)
class Function:
    """One aggregate function: COUNT_STAR, COUNT, SUM, AVG, MIN or MAX; "" if it is another."""

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False


@dataclass(frozen=True)
class Aggregation:
    """Functions over groups of rows; over all rows if there are no group keys."""

    group_by: tuple[Expr, ...] = ()
    functions: tuple[Function, ...] = ()


@dataclass(frozen=True)
class SortKey:
    """One sort key."""

    expr: Expr
    ascending: bool = True
    nulls_first: bool = True


def parse_aggregation(value: Mapping[str, Any]) -> Aggregation:
    """Parse the aggregation that the hooks send as `{"group_by": [..], "functions": [..]}`."""
    return Aggregation(
        tuple(parse_expression(key) for key in value.get("group_by", ())),
        tuple(_function(function) for function in value.get("functions", ())),
    )


def _function(value: Mapping[str, Any]) -> Function:
    args = tuple(parse_expression(arg) for arg in value.get("args", ()))
    return Function(str(value.get("agg", "")), args, bool(value.get("distinct")))


def parse_order(values: Sequence[Mapping[str, Any]]) -> tuple[SortKey, ...]:
    """Parse the sort order that the hooks send as a list of `{"expr", "asc", "nulls_first"}`."""
    return tuple(
        SortKey(parse_expression(value["expr"]), bool(value["asc"]), bool(value["nulls_first"]))
        for value in values
    )
