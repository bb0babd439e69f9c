"""Arrow values as Python objects, also those that Python has no objects for.

Strings may be any bytes, and dates and timestamps may be outside of Python's years 1 to 9999: these
are strings with a replacement character, and dates and timestamps in ISO form.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from indextables.expr.calendar import render_date, render_timestamp


def to_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries."""
    names = table.column_names
    columns = [to_objects(column) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def to_objects(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column."""
    try:
        found: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        found = [_object(value) for value in column]
    return found


def _object(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        return _in_parts(value)


def _in_parts(value: pa.Scalar) -> Any:
    kind = value.type
    if pa.types.is_struct(kind):
        return {name: _object(member) for name, member in value.items()}
    if pa.types.is_map(kind):
        return [tuple(_object(part) for part in entry.values()) for entry in value.values]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_object(element) for element in value.values]
    if pa.types.is_date(kind):
        return render_date(value.cast(pa.date32()).cast(pa.int32()).as_py())
    if pa.types.is_timestamp(kind):
        micros = value.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()).as_py()
        return render_timestamp(micros).replace(" ", "T") + ("+00:00" if kind.tz else "")
    return value.as_buffer().to_pybytes().decode("utf-8", "replace")
