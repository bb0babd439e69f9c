"""ORDER BY ... LIMIT answered by the engine: which orders it can follow exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.expr.predicate import Column
from indextables.expr.values import UNORDERED, is_plain_string, kind_of
from indextables.plan.columns import Columns, field_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.expr.aggregation import SortKey

SCORE = "_score"
_MAX_LIMIT = 100_000

Order = list[dict[str, Any]] | str


def plan_top(keys: Sequence[SortKey], limit: int, columns: Columns) -> Order | None:
    """The engine's `order` option for a sort order; None if the engine cannot sort so.

    Every task returns its own first `limit` rows; the caller merges them.
    """
    if limit > _MAX_LIMIT or not keys:
        return None
    planned: list[dict[str, Any]] = []
    for key in _deciding(keys):
        expr = key.expr
        if not isinstance(expr, Column):
            return None
        if expr.path == (SCORE,) and columns.get(SCORE) is None:
            # by score alone, descending, the index skips rows that cannot be among the first
            if len(keys) == 1 and not key.ascending:
                return "score"
            planned.append(engine_key(key))
            continue
        if not _sortable(expr, columns):
            return None
        planned.append(engine_key(key))
    return planned


def _deciding(keys: Sequence[SortKey]) -> list[SortKey]:
    """The keys without later ones of the same column, which are equal where they would decide."""
    first: dict[Any, SortKey] = {}
    for key in keys:
        first.setdefault(key.expr, key)
    return list(first.values())


def _sortable(expr: Column, columns: Columns) -> bool:
    """Whether the engine sorts rows by a column as Spark does.

    A partition column is constant within a split: there it does not matter, and the first rows of
    all splits are sorted again.
    """
    info = columns.at(expr.path)
    if info is None or len(expr.path) > 1 or kind_of(info.type) in UNORDERED:
        return False
    plain = kind_of(info.type) != "string" or is_plain_string(info.type)
    return plain and (info.partition or info.readable)


def sort_order(keys: Sequence[SortKey], columns: Columns) -> list[dict[str, Any]] | None:
    """The order of rows that are there already: any scalar columns, and the score in any place."""
    order = []
    for key in _deciding(keys):
        expr = key.expr
        if not isinstance(expr, Column):
            return None
        if expr.path != (SCORE,) and not _sortable(expr, columns):
            return None
        order.append(engine_key(key))
    return order


def engine_key(key: SortKey) -> dict[str, Any]:
    """A sort key by column, as the engine and `put_in_order` read it."""
    assert isinstance(key.expr, Column), key
    return {
        "field": field_name(key.expr.path),
        "ascending": key.ascending,
        "nulls_first": key.nulls_first,
    }
