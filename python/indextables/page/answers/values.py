"""Columns of an answer as strings of limited length, whatever bytes they hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from indextables.expr.calendar import render_timestamp
from indextables.expr.objects import to_objects
from indextables.show.values import cut, text

LONGEST = 4_000


def cells(column: pa.ChunkedArray, *, whole: bool = False) -> list[str | None]:
    """The values of a column as strings; `whole` does not cut them, because they become filters."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # strings may be any bytes
        raw = column.cast(pa.large_binary()).to_pylist()
        found: list[Any] = [
            None if each is None else each.decode("utf-8", "replace") for each in raw
        ]
    elif pa.types.is_timestamp(kind):
        micros = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).to_pylist()
        found = [None if each is None else render_timestamp(each) for each in micros]
    else:
        found = [None if each is None else _shown(each) for each in to_objects(column)]
    return found if whole else [None if each is None else cut(each, LONGEST) for each in found]


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, float) else text(value)
