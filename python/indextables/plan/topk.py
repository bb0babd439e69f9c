"""ORDER BY ... LIMIT answered by the engine: which orders it can follow exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.expr.predicate import Column, parse_expression
from indextables.expr.values import is_plain_string, kind_of
from indextables.plan.columns import Columns, field_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCORE = "_score"
_MAX_LIMIT = 100_000
_UNSORTED = ("struct", "array", "map", "void")

Order = list[dict[str, Any]] | str


def plan_top(orders: Sequence[Mapping[str, Any]], limit: int, columns: Columns) -> Order | None:
    """The engine's `order` option for sort orders as the hooks write them; None: Spark sorts.

    Every task returns its own first `limit` rows, Spark puts them together.
    """
    if limit > _MAX_LIMIT or not orders:
        return None
    planned: list[dict[str, Any]] = []
    for order in orders:
        expr = parse_expression(order["expr"])
        if not isinstance(expr, Column):
            return None
        if expr.path == (SCORE,) and columns.get(SCORE) is None:
            # the score decides alone: it hardly ever ties, and never is null
            descending = not order["asc"]
            return "score" if descending and not planned and len(orders) == 1 else None
        if not _sortable(expr, columns):
            return None
        planned.append(
            {
                "field": field_name(expr.path),
                "ascending": bool(order["asc"]),
                "nulls_first": bool(order["nulls_first"]),
            }
        )
    return planned


def _sortable(expr: Column, columns: Columns) -> bool:
    """Whether the engine orders rows by a column as Spark does.

    A partition column is the same in all rows of a split: there it does not matter, and the first
    rows of all splits are put in order again.
    """
    info = columns.at(expr.path)
    if info is None or len(expr.path) > 1 or kind_of(info.type) in _UNSORTED:
        return False
    plain = kind_of(info.type) != "string" or is_plain_string(info.type)
    return plain and (info.partition or info.readable)
