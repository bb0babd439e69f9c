"""Group keys that are computed: histograms, ranges and truncated times, as the engine asks them.

Spark can compute each of them too (the hooks define what they mean), so whatever is not certain to
be the same in the engine is left to Spark.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.expr.binding import UTC_NAMES, column_under_casts
from indextables.expr.casts import domain_of, solve
from indextables.expr.predicate import Call, Expr, Literal
from indextables.expr.values import FLOATING, INTEGRAL_BITS, encode, kind_of
from indextables.model.types import Atomic
from indextables.plan.columns import field_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.model.types import DataType
    from indextables.plan.columns import Columns

Bucket = tuple[dict[str, Any], pa.DataType]
DOUBLE = Atomic("double")
_MOMENT = pa.timestamp("us", tz="UTC")
_UNITS_US = {
    "ms": 1000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_CALENDAR = {"M": "month", "q": "quarter", "y": "year"}
_INTERVAL = re.compile(r"(-?\d+)(ms|s|m|h|d|w|M|q|y)$")
# Spark's words for what a date or time is cut down to
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
    "SECOND": "second",
}


def plan_bucket(expr: Expr, columns: Columns, time_zone: str = "") -> Bucket | None:
    """The engine's group and the key's type for a call in GROUP BY; None: not for the engine."""
    if not isinstance(expr, Call):
        return None
    name = expr.name.lower()
    args = expr.args[::-1] if name == "date_trunc" else expr.args
    if name not in _BUCKETS or not args:
        return None
    found = column_under_casts(args[0], columns.schema)
    if found is None or len(found[0]) > 1:
        return None
    path, kind, chain = found
    info = columns.at(path)
    if info is None or info.partition or not info.columnar or info.role == "ip":
        return None
    if not all(isinstance(arg, Literal) for arg in args[1:]):
        return None
    values = [arg.value for arg in args[1:] if isinstance(arg, Literal)]
    return _BUCKETS[name](field_name(path), kind, chain, values, time_zone)


def _histogram(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], _: str
) -> Bucket | None:
    numeric = kind_of(kind) in (*INTEGRAL_BITS, *FLOATING)
    if not numeric or any(kind_of(step) != "double" for step in chain) or not values:
        return None
    interval = values[0]
    offset = values[1] if len(values) > 1 else 0.0
    if interval is None or offset is None or not float(interval) > 0:
        return None
    spec = {"field": field, "interval": float(interval), "offset": float(offset)}
    return {"histogram": spec}, pa.float64()


def _date_histogram(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], zone: str
) -> Bucket | None:
    steps = [kind_of(kind), *(kind_of(step) for step in chain)]
    # dates and times without a zone become moments by the session's zone
    certain = steps == ["timestamp"] or (
        zone in UTC_NAMES and steps in (["date", "timestamp"], ["timestamp_ntz", "timestamp"])
    )
    if not certain or not values:
        return None
    offset = 0
    if len(values) > 1:
        found = _micros(values[1])
        if found is None:
            return None
        offset = found
    calendar = _INTERVAL.match(str(values[0]).strip())
    if calendar and calendar[2] in _CALENDAR:
        if calendar[1] != "1" or offset:
            return None
        return {"date_trunc": {"field": field, "unit": _CALENDAR[calendar[2]]}}, _MOMENT
    interval = _micros(values[0])
    if interval is None or interval <= 0:
        return None
    spec = {"field": field, "interval_us": interval, "offset_us": offset}
    return {"date_histogram": spec}, _MOMENT


def _micros(text: Any) -> int | None:
    found = _INTERVAL.match(str(text).strip())
    return int(found[1]) * _UNITS_US[found[2]] if found and found[2] in _UNITS_US else None


def _range(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], _: str
) -> Bucket | None:
    if len(values) % 3 or not values or any(kind_of(step) != "double" for step in chain):
        return None
    spans = [_span(kind, low, high) for low, high in zip(values[1::3], values[2::3], strict=True)]
    if any(span is None for span in spans) or _overlap([s for s in spans if s is not None]):
        return None
    ranges = [
        {
            "name": str(name),
            "from": None if span[0] is None else encode(span[0], kind),
            "to": None if span[1] is None else encode(span[1], kind),
        }
        for name, span in zip(values[::3], spans, strict=True)
        if span is not None and name is not None
    ]
    return ({"range": {"field": field, "ranges": ranges}}, pa.string()) if ranges else None


def _span(kind: DataType, low: float | None, high: float | None) -> tuple[Any, Any] | None:
    """Bounds on the cast value as bounds on the column: from included, to excluded."""
    if kind_of(kind) in FLOATING:
        # NaN is in no range with a bound, but above all numbers for the engine
        narrow = kind_of(kind) == "double" or (low is None and high is None)
        return (low, high) if narrow and (high is not None or low is None) else None
    domain = domain_of(kind)
    if domain is None or kind_of(kind) not in INTEGRAL_BITS:
        return None
    start = None if low is None else solve(">=", kind, (DOUBLE,), low, DOUBLE)
    stop = None if high is None else solve("<", kind, (DOUBLE,), high, DOUBLE)
    if (start and start[0] > start[1]) or (stop and stop[0] > stop[1]):
        return None
    first = start[0] if start and start[0] > domain.low else None
    last = stop[1] + 1 if stop and stop[1] < domain.high else None
    return first, last


def _overlap(spans: Sequence[tuple[Any, Any]]) -> bool:
    """Whether two ranges share a value; then the first one named wins, which the engine ignores."""
    ordered = sorted(spans, key=lambda s: (s[0] is not None, s[0] or 0))
    return any(
        one[1] is None or other[0] is None or other[0] < one[1]
        for one, other in itertools.pairwise(ordered)
    )


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
    unit = _TIME_TRUNCATIONS.get(str(values[0]).upper()) if values else None
    if unit is None or chain or kind_of(kind) != "timestamp" or zone not in UTC_NAMES:
        return None
    return {"date_trunc": {"field": field, "unit": unit}}, _MOMENT


_BUCKETS = {
    "indextables_histogram": _histogram,
    "indextables_date_histogram": _date_histogram,
    "indextables_range": _range,
    "trunc": _trunc,
    "date_trunc": _date_trunc,
}
