"""Convert filters of Spark's Python data sources to the form that the hooks send."""

from __future__ import annotations

import base64
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMPARISONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "StringStartsWith": "STARTS_WITH",
    "StringEndsWith": "ENDS_WITH",
    "StringContains": "CONTAINS",
}
_TESTS = {"IsNull": "IS_NULL", "IsNotNull": "IS_NOT_NULL"}


def to_predicate(given: Filter) -> dict[str, Any] | None:
    """The predicate of a filter, or None if it is unsupported."""
    name = type(given).__name__
    if name == "Not":
        inner = to_predicate(given.child)  # type: ignore[attr-defined]
        return None if inner is None else {"op": "NOT", "args": [inner]}
    column = {"col": list(getattr(given, "attribute", ()))}
    if name in _TESTS:
        return {"op": _TESTS[name], "args": [column]}
    values = list(given.value) if name == "In" else [getattr(given, "value", None)]  # type: ignore[attr-defined]
    literals = [_literal(value) for value in values]
    op = "IN" if name == "In" else _COMPARISONS.get(name)
    if op is None or None in literals:
        return None
    return {"op": op, "args": [column, *literals]}


def _literal(value: Any) -> dict[str, Any] | None:  # noqa: PLR0911 (one line per type)
    if isinstance(value, bool):
        return {"lit": value, "type": "boolean"}
    if isinstance(value, int):
        return {"lit": value, "type": "long"}
    if isinstance(value, float):
        special = "NaN" if math.isnan(value) else str(value).replace("inf", "Infinity")
        return {"lit": value if math.isfinite(value) else special, "type": "double"}
    if isinstance(value, str):
        # Spark replaced invalid UTF-8 on the way to Python, so the original value is unknown
        return None if "\ufffd" in value else {"lit": value, "type": "string"}
    if isinstance(value, bytes | bytearray):
        return {"lit": base64.b64encode(value).decode(), "type": "binary"}
    if isinstance(value, Decimal):
        scale = max(0, -int(value.as_tuple().exponent))
        return {"lit": format(value, "f"), "type": f"decimal(38,{scale})"}
    if isinstance(value, datetime):
        zone = value if value.tzinfo else value.astimezone()
        return {"lit": (zone - _EPOCH) // (_EPOCH.resolution), "type": "timestamp"}
    if isinstance(value, date):
        return {"lit": (value - _EPOCH.date()).days, "type": "date"}
    return None
