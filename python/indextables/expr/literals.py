"""Values as they are written: partition values in the log, literals in a WHERE clause."""

from __future__ import annotations

import base64
from decimal import Decimal as Number
from typing import Any

from indextables.expr.calendar import parse_date, parse_timestamp, render_date, render_timestamp
from indextables.expr.values import kind_of
from indextables.model.strings import parse_string, render_string
from indextables.model.types import DataType, Decimal


def parse_literal(text: str, kind: DataType) -> Any:
    """Parse a value into the form of `expr.values`; KeyError, ValueError or ArithmeticError."""
    return _PARSERS[kind_of(kind)](text)


def render_literal(value: Any, kind: DataType) -> str | None:  # noqa: PLR0911 (one per kind)
    """Write a value as the log stores partition values; None for null."""
    if value is None:
        return None
    name = kind_of(kind)
    if name == "boolean":
        return "true" if value else "false"
    if name == "date":
        return render_date(value)
    if name in ("timestamp", "timestamp_ntz"):
        return render_timestamp(value)
    if name == "binary":
        return base64.b64encode(value).decode("ascii")
    if name == "decimal" and isinstance(kind, Decimal):
        return format(Number(value), "f")
    if name == "string":
        return render_string(value)
    return _render_float(value) if name in ("float", "double") else str(value)


def _render_float(value: float) -> str:
    if value != value:  # noqa: PLR0124 (NaN)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


_PARSERS: dict[str, Any] = {
    "boolean": _boolean,
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "decimal": Number,
    "string": parse_string,
    "binary": base64.b64decode,
    "date": parse_date,
    "timestamp": parse_timestamp,
    "timestamp_ntz": parse_timestamp,
    "day_time": int,
    "year_month": int,
}
