"""Rows made comparable: NaN equals NaN, and -0.0 differs from 0.0 where a row is delivered."""

from __future__ import annotations

import math
from typing import Any


def canonical(value: Any, *, one_zero: bool) -> Any:
    """A value that compares and sorts like any other."""
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
    """Rows as sorted text: equal exactly when the same rows came, in whatever order.

    Grouping, MIN and MAX may show either zero: `one_zero` makes them equal.
    """
    return sorted(repr(tuple(canonical(v, one_zero=one_zero) for v in row)) for row in rows)
