"""Aggregations and sort orders as values: what a query requests besides its predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indextables.expr.predicate import Expr, Literal, Predicate, parse_expression, parse_predicate


@dataclass(frozen=True)
class Function:
    """One aggregate function: COUNT_STAR, COUNT, SUM, AVG, MIN or MAX; "" if it is another.

    With a condition, only rows for which it is true count.
    """

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    condition: Predicate | None = None


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
    name, given = str(value.get("agg", "")), list(value.get("args", ()))
    condition = None
    if len(given) == 1 and _is_conditional(given[0]):
        condition = parse_predicate(given[0]["args"][0])
        given = given[0]["args"][1:2]
    args = tuple(parse_expression(arg) for arg in given)
    if name == "COUNT" and condition is not None and _is_there(args[0]):
        name, args = "COUNT_STAR", ()
    return Function(name, args, bool(value.get("distinct")), condition)


def _is_conditional(value: Mapping[str, Any]) -> bool:
    """Whether an argument is `CASE WHEN condition THEN value END`."""
    return value.get("op") == "CASE_WHEN" and len(value.get("args", ())) == len(("when", "then"))


def _is_there(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is not None


def parse_order(values: Sequence[Mapping[str, Any]]) -> tuple[SortKey, ...]:
    """Parse the sort order that the hooks send as a list of `{"expr", "asc", "nulls_first"}`."""
    return tuple(
        SortKey(parse_expression(value["expr"]), bool(value["asc"]), bool(value["nulls_first"]))
        for value in values
    )
