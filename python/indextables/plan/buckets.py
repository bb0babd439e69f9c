"""Group keys that are computed: histograms, ranges and truncated times, as the engine asks them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.expr.predicate import Call, Column, Expr, Literal
from indextables.expr.values import FLOATING, INTEGRAL_BITS, encode, kind_of
from indextables.plan.columns import ColumnInfo, Columns, field_name

if TYPE_CHECKING:
    from collections.abc import Sequence

Bucket = tuple[dict[str, Any], pa.DataType]
_UNITS_US = {
    "ms": 1000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_INTERVAL = re.compile(r"(-?\d+)(ms|s|m|h|d)$")


def plan_bucket(expr: Expr, columns: Columns) -> Bucket | None:
    """The engine's group and the key's type for a call in GROUP BY; None: not for the engine."""
    if not isinstance(expr, Call) or not expr.args or not isinstance(expr.args[0], Column):
        return None
    path = expr.args[0].path
    info = columns.at(path)
    if info is None or info.partition or not info.fast or not columns.comparable(path):
        return None
    build = _BUCKETS.get(expr.name.lower())
    return build(info, field_name(path), expr.args[1:]) if build else None


def _constants(args: Sequence[Expr]) -> list[Any] | None:
    if not all(isinstance(arg, Literal) for arg in args):
        return None
    return [arg.value for arg in args if isinstance(arg, Literal)]


def _histogram(info: ColumnInfo, field: str, args: Sequence[Expr]) -> Bucket | None:
    values = _constants(args)
    if not values or kind_of(info.type) not in (*INTEGRAL_BITS, *FLOATING):
        return None
    interval = float(values[0])
    offset = float(values[1]) if len(values) > 1 and values[1] is not None else 0.0
    if interval <= 0:
        return None
    return {"histogram": {"field": field, "interval": interval, "offset": offset}}, pa.float64()


def _date_histogram(info: ColumnInfo, field: str, args: Sequence[Expr]) -> Bucket | None:
    values = _constants(args)
    if not values or kind_of(info.type) not in ("date", "timestamp", "timestamp_ntz"):
        return None
    interval = _micros(values[0])
    offset = _micros(values[1]) if len(values) > 1 and values[1] is not None else 0
    if interval is None or offset is None or interval <= 0:
        return None
    spec = {"field": field, "interval_us": interval, "offset_us": offset}
    return {"date_histogram": spec}, pa.timestamp("us", tz="UTC")


def _micros(text: Any) -> int | None:
    found = _INTERVAL.match(str(text).strip())
    return int(found[1]) * _UNITS_US[found[2]] if found else None


def _range(info: ColumnInfo, field: str, args: Sequence[Expr]) -> Bucket | None:
    if len(args) % 3 or not args or not all(isinstance(arg, Literal) for arg in args):
        return None
    ranges = []
    for name, low, high in zip(args[::3], args[1::3], args[2::3], strict=True):
        assert isinstance(name, Literal)
        assert isinstance(low, Literal)
        assert isinstance(high, Literal)
        ranges.append(
            {
                "name": name.value,
                "from": None if low.value is None else encode(low.value, info.type),
                "to": None if high.value is None else encode(high.value, info.type),
            }
        )
    return {"range": {"field": field, "ranges": ranges}}, pa.string()


_BUCKETS = {
    "indextables_histogram": _histogram,
    "indextables_date_histogram": _date_histogram,
    "indextables_range": _range,
}
