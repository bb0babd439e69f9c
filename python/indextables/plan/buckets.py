"""Group keys that are computed: truncated dates and times, as the engine is asked for them.

Spark can compute every bucket too (the hooks define what they mean), so whatever is not certain to
be the same in the engine is left to Spark. That includes number histograms, ranges and intervals of
several units: the engine leaves out rows without a bucket, which are a group of their own in SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.expr.binding import UTC_NAMES, column_under_casts
from indextables.expr.predicate import Call, Expr, Literal
from indextables.expr.values import kind_of
from indextables.plan.columns import field_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.model.types import DataType
    from indextables.plan.columns import Columns

Bucket = tuple[dict[str, Any], pa.DataType]
_MOMENT = pa.timestamp("us", tz="UTC")
# intervals that are a unit of the calendar; weeks of a histogram begin on Thursdays
_UNITS = {
    "1s": "second",
    "1m": "minute",
    "1h": "hour",
    "1d": "day",
    "1M": "month",
    "1q": "quarter",
    "1y": "year",
}
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


def _date_histogram(
    field: str, kind: DataType, chain: tuple[DataType, ...], values: Sequence[Any], zone: str
) -> Bucket | None:
    steps = [kind_of(kind), *(kind_of(step) for step in chain)]
    # dates and times without a zone become moments by the session's zone
    certain = steps == ["timestamp"] or (
        zone in UTC_NAMES and steps in (["date", "timestamp"], ["timestamp_ntz", "timestamp"])
    )
    unit = _UNITS.get(str(values[0]).strip()) if len(values) == 1 else None
    if not certain or unit is None:
        return None
    return {"date_trunc": {"field": field, "unit": unit}}, _MOMENT


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
    "indextables_date_histogram": _date_histogram,
    "trunc": _trunc,
    "date_trunc": _date_trunc,
}
