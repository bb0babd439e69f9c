"""Comparable rows: NaN equals NaN, and -0.0 differs from 0.0 in returned rows."""

from __future__ import annotations

import math
from typing import Any


def canonical(value: Any, *, one_zero: bool) -> Any:
    """A value in a form that can be compared and sorted."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value + 0.0 if one_zero else value)
    if isinstance(value, dict):
        items = ((repr(k), canonical(v, one_zero=one_zero)) for k, v in value.items())
        return ("map", tuple(sorted(items)))
    if hasattr(value, "asDict"):
        return ("row", tuple(canonical(v, one_zero=one_zero) for v in value))
    if isinstance(value, list):
        return ("list", tuple(canonical(v, one_zero=one_zero) for v in value))
    if isinstance(value, bytearray):
        return repr(bytes(value))
    return repr(value)


def multiset(rows: list[Any], *, one_zero: bool = False) -> list[str]:
    """Rows as sorted strings: equal if and only if the rows are the same, in any order.

    Grouping, MIN and MAX may return either zero: `one_zero` makes them equal.
    """
    return sorted(repr(tuple(canonical(v, one_zero=one_zero) for v in row)) for row in rows)
