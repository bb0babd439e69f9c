"""Computed group keys (histograms, ranges, truncated dates and times) as requests to the engine.

Spark can compute every bucket, too (the hooks define them), so everything that is not certain to
be the same in the engine is left to Spark: types other than numbers under a cast to double, bounds
that are not numbers, intervals that Spark would reject. Rows without a bucket form a group of null.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.expr.binding import UTC_NAMES, column_under_casts
from indextables.expr.predicate import Call, Expr, Literal
from indextables.expr.values import FLOATING, INTEGRAL_BITS, kind_of
from indextables.plan.columns import field_name
from indextables.plan.intervals import Interval, parse_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.expr.predicate import Path
    from indextables.model.types import DataType
    from indextables.plan.columns import Columns

Bucket = tuple[dict[str, Any], pa.DataType]
_MOMENT = pa.timestamp("us", tz="UTC")
# Spark's units for truncating a date or timestamp
_TRUNCATIONS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MM", "MON"), "month"),
    "WEEK": "week",
}
_TIME_TRUNCATIONS = {
    **_TRUNCATIONS,
    **dict.fromkeys(("DAY", "DD"), "day"),
    "HOUR": "hour",
    "MINUTE": "minute",
}
# these are the same in every zone
_ZONELESS = {"SECOND": "second", "MILLISECOND": "millisecond", "MICROSECOND": "microsecond"}


def plan_bucket(expr: Expr, columns: Columns, time_zone: str = "") -> Bucket | None:
    """The engine's group and the key's type for a call in GROUP BY; None: not for the engine."""
    if not isinstance(expr, Call):
        return None
    name = expr.name.lower()
    args = expr.args
    if name == "date_trunc":
        args = (*args[1:2], *args[:1], *args[2:])
    if name not in _BUCKETS or not args:
        return None
    found = column_under_casts(args[0], columns.schema)
    if found is None:
        return None
    path, kind, chain = found
    if not _has_buckets(path, columns):
        return None
    if not all(isinstance(arg, Literal) for arg in args[1:]):
        return None
    values = [arg.value for arg in args[1:] if isinstance(arg, Literal)]
    return _BUCKETS[name](field_name(path), kind, chain, values, time_zone)


def _has_buckets(path: Path, columns: Columns) -> bool:
    """Whether the engine computes buckets of the values at a path."""
    info = columns.at(path)
    if info is None or info.partition or info.role == "ip":
        return False
    return info.columnar if len(path) == 1 else columns.foldable(path)


def _date_histogram(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], zone: str
) -> Bucket | None:
    steps = [kind_of(kind), *(kind_of(step) for step in chain)]
    # dates and timestamps without a zone become timestamps in the session's zone
    certain = steps == ["timestamp"] or (
        zone in UTC_NAMES and steps in (["date", "timestamp"], ["timestamp_ntz", "timestamp"])
    )
    if not certain or not 1 <= len(values) <= 2:  # noqa: PLR2004 (interval and offset)
        return None
    interval = parse_interval(values[0])
    offset = parse_interval(values[1]) if len(values) > 1 else Interval(0, "ms")
    if interval is None or interval.number <= 0 or offset is None or offset.micros is None:
        return None
    length = (
        {"interval_months": interval.months}
        if interval.micros is None
        else {"interval_us": interval.micros}
    )
    return {"date_histogram": {"field": field, **length, "offset_us": offset.micros}}, _MOMENT


def _is_number(kind: DataType, chain: tuple[DataType, ...]) -> bool:
    """Whether a number is converted to a double as the engine does it."""
    steps = [kind_of(kind), *(kind_of(step) for step in chain)]
    return steps == ["double"] or (
        len(steps) == len(("number", "double"))
        and steps[0] in (*INTEGRAL_BITS, *FLOATING)
        and steps[1] == "double"
    )


def _histogram(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], _: str
) -> Bucket | None:
    if not _is_number(kind, chain) or not 1 <= len(values) <= 2:  # noqa: PLR2004 (as above)
        return None
    interval, offset = values[0], values[1] if len(values) > 1 else 0.0
    if not _is_finite(interval) or not _is_finite(offset) or interval <= 0:
        return None
    return {"histogram": {"field": field, "interval": interval, "offset": offset}}, pa.float64()


def _range(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], _: str
) -> Bucket | None:
    names, lower, upper = values[0::3], values[1::3], values[2::3]
    bounds = [bound for bound in (*lower, *upper) if bound is not None]
    if not _is_number(kind, chain) or not all(map(_is_finite, bounds)):
        return None
    if not all(isinstance(name, str) for name in names):
        return None
    ranges = [
        {"name": name, "from": low, "to": high}
        for name, low, high in zip(names, lower, upper, strict=True)
    ]
    return {"range": {"field": field, "ranges": ranges}}, pa.string()


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _trunc(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], _: str
) -> Bucket | None:
    unit = _TRUNCATIONS.get(str(values[0]).upper()) if values else None
    if unit is None or chain or kind_of(kind) != "date":
        return None
    return {"date_trunc": {"field": field, "unit": unit}}, pa.date32()


def _date_trunc(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], zone: str
) -> Bucket | None:
    if not values or chain or kind_of(kind) != "timestamp":
        return None
    word = str(values[0]).upper()
    if word in _ZONELESS:
        return {"date_trunc": {"field": field, "unit": _ZONELESS[word]}}, _MOMENT
    # without time zone rules, which Spark sends with every call, times are in UTC
    if word not in _TIME_TRUNCATIONS or (len(values) == 1 and zone not in UTC_NAMES):
        return None
    asked = {"field": field, "unit": _TIME_TRUNCATIONS[word]}
    if len(values) > 1:
        asked["clock"] = json.loads(values[1])
    return {"date_trunc": asked}, _MOMENT


_BUCKETS = {
    "indextables_date_histogram": _date_histogram,
    "indextables_histogram": _histogram,
    "indextables_range": _range,
    "trunc": _trunc,
    "date_trunc": _date_trunc,
}
