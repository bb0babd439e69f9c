"""Rows counted over time and by value, for the page and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.plan.intervals import parse_interval
from indextables.sql.values import quote, quote_name

if TYPE_CHECKING:
    from indextables.api.local import Table

COUNT = "count(*)"
_STEPS = (
    "1ms", "10ms", "100ms", "1s", "5s", "15s", "30s", "1m", "5m", "15m", "30m", "1h", "3h",
    "12h", "1d", "7d", "30d", "90d", "365d", "3650d", "36500d", "365000d", "3650000d",
)  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """Rows within [low, high)."""

    low: float
    high: float
    rows: int


@dataclass(frozen=True)
class Histogram:
    """Rows over time (microseconds since 1970) or over a number, without gaps."""

    column: str
    bars: tuple[Bar, ...]
    step: str = ""


def count_over_time(
    table: Table,
    column: str,
    ends: tuple[int, int],
    most: int,
    *,
    where: str | None = None,
    query: str | None = None,
) -> Histogram:
    """Count rows over a time column between two ends, in at most `bars` bars of equal length."""
    low, high = ends
    step, width = _step(high - low, most)
    found = table.aggregate(
        {"rows": COUNT},
        by={"at": f"indextables_date_histogram({quote_name(column)}, {quote(step)})"},
        where=both(where, f"{quote_name(column)} IS NOT NULL"),
        query=query,
    )
    starts, rows = as_micros(found.column("at")), found.column("rows").to_pylist()
    counts = dict(zip(starts, rows, strict=True))
    first, last = low // width * width, max(high - 1, low) // width * width
    bars = [Bar(at, at + width, counts.get(at, 0)) for at in range(first, last + 1, width)]
    return Histogram(column, tuple(bars), step)


def time_range(
    table: Table, column: str, where: str | None = None, query: str | None = None
) -> tuple[int, int] | None:
    """The range [first, last) of a time column in microseconds; None if there is no time."""
    name = quote_name(column)
    ends = table.aggregate({"low": f"min({name})", "high": f"max({name})"}, (), where, query)
    low, high = (as_micros(ends.column(at))[0] for at in ("low", "high"))
    return None if low is None or high is None else (low, high + 1)


def count_values(
    table: Table, column: str, where: str | None = None, query: str | None = None
) -> pa.Table:
    """Count the rows of every value of a column (`value`, `rows`), most frequent first."""
    return table.aggregate(
        {"rows": COUNT},
        by={"value": quote_name(column)},
        where=where,
        query=query,
        order_by=["rows DESC", "value ASC"],
    )


def both(*conditions: str | None) -> str | None:
    """The conjunction of these conditions; None if there are none."""
    given = [each for each in conditions if each]
    return (
        " AND ".join(f"({each})" for each in given) if len(given) > 1 else next(iter(given), None)
    )


def as_micros(column: pa.ChunkedArray) -> list[int | None]:
    """Dates and timestamps as microseconds since 1970."""
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    found: list[int | None] = column.cast(pa.timestamp("us", zone)).cast(pa.int64()).to_pylist()
    return found


def _step(length: int, most: int) -> tuple[str, int]:
    """The shortest interval that leaves a readable number of bars, and its microseconds."""
    steps = ((step, _width(step)) for step in _STEPS)
    fitting = (found for found in steps if length <= found[1] * most)
    return next(fitting, (_STEPS[-1], _width(_STEPS[-1])))


def _width(step: str) -> int:
    interval = parse_interval(step)
    assert interval is not None, step
    assert interval.micros is not None, step
    return interval.micros
