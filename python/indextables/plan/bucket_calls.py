"""Calls of bucket functions, checked and normalized before any row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from indextables.errors import error
from indextables.expr.values import kind_of
from indextables.model.kinds import Family, names_of
from indextables.plan.intervals import parse_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.model.types import DataType

FORMS = {
    "indextables_histogram": "indextables_histogram(column, interval[, offset[, min_doc_count]])",
    "indextables_date_histogram": (
        "indextables_date_histogram(column, 'interval'[, 'offset'[, min_doc_count]])"
    ),
    "indextables_range": "indextables_range(column, 'name', from, to[, 'name', from, to ...])",
}
_NUMBERS = names_of(Family.INTEGER, Family.FLOATING, Family.DECIMAL)
_TIMES = names_of(Family.TIME)
_INTERVAL_WANTED = "a positive interval such as '15m', '1 day' or 'month'"
_OFFSET_WANTED = "an interval of a fixed length such as '30m' or '-1h'"


class _NotConstant:
    """An argument whose value is not known before rows are read."""


NOT_CONSTANT = _NotConstant()


@dataclass(frozen=True)
class BucketCall:
    """The complete, normalized arguments after the column; the minimum rows of a bucket."""

    arguments: tuple[Any, ...]
    min_doc_count: int = 1


def check_call(function: str, column: DataType | None, given: Sequence[Any]) -> BucketCall:
    """Check a call over a column of this type; `given` are the values of the other arguments."""
    for position, value in enumerate(given):
        if value is NOT_CONSTANT:
            raise _problem(function, f"argument {position + 2} must be a constant")
    wanted = _TIMES if function == "indextables_date_histogram" else _NUMBERS
    if column is not None and kind_of(column) not in wanted:
        kinds = "a date or timestamp" if wanted is _TIMES else "a number"
        raise _problem(function, f"the column must be {kinds}, not {kind_of(column)}")
    return _CHECKS[function](function, given)


def _histogram(function: str, given: Sequence[Any]) -> BucketCall:
    _check_count(function, given)
    interval, offset = (_number(value) for value in (given[0], given[1] if given[1:] else 0.0))
    if interval is None or interval <= 0:
        raise _problem(function, "the interval must be a number above 0")
    if offset is None:
        raise _problem(function, "the offset must be a number")
    return BucketCall((interval, offset), _min_doc_count(function, given))


def _date_histogram(function: str, given: Sequence[Any]) -> BucketCall:
    _check_count(function, given)
    interval, offset = (parse_interval(v) for v in (given[0], given[1] if given[1:] else "0ms"))
    if interval is None or interval.number <= 0:
        raise _problem(function, f"the interval must be {_INTERVAL_WANTED}, not `{given[0]}`")
    if offset is None or offset.micros is None:
        raise _problem(function, f"the offset must be {_OFFSET_WANTED}, not `{given[1]}`")
    return BucketCall((str(interval), str(offset)), _min_doc_count(function, given))


def _range(function: str, given: Sequence[Any]) -> BucketCall:
    if not given or len(given) % 3:
        raise _problem(function, f"it is called with {len(given) + 1} arguments")
    ranges = []
    for name, *ends in zip(given[0::3], given[1::3], given[2::3], strict=True):
        low, high = (None if end is None else _number(end) for end in ends)
        if not isinstance(name, str):
            raise _problem(function, f"the name of a range must be a string, not `{name}`")
        if any(end is not None and _number(end) is None for end in ends):
            raise _problem(function, f"the ends of range `{name}` must be numbers or NULL")
        if low is not None and high is not None and low >= high:
            raise _problem(function, f"range `{name}` is empty: it begins at {low}, ends at {high}")
        ranges.append((name, low, high))
    _check_overlaps(function, ranges)
    return BucketCall(tuple(value for each in ranges for value in each))


def _check_overlaps(
    function: str, ranges: Sequence[tuple[str, float | None, float | None]]
) -> None:
    ordered = sorted(ranges, key=lambda each: -math.inf if each[1] is None else each[1])
    for (one, _, end), (other, begin, _) in pairwise(ordered):
        if end is None or begin is None or begin < end:
            raise _problem(function, f"ranges `{one}` and `{other}` overlap")


def _check_count(function: str, given: Sequence[Any]) -> None:
    if not 1 <= len(given) <= 3:  # noqa: PLR2004 (interval, offset, min_doc_count)
        raise _problem(function, f"it is called with {len(given) + 1} arguments")


def _min_doc_count(function: str, given: Sequence[Any]) -> int:
    found = _number(given[2]) if given[2:] else 1.0
    if found == 0:
        raise _problem(
            function, "min_doc_count 0 asks for empty buckets, which GROUP BY does not return"
        )
    if found is None or found < 0 or found != int(found):
        raise _problem(function, "min_doc_count must be a whole number, 1 or more")
    return int(found)


def _number(value: Any) -> float | None:
    if isinstance(value, bool | str) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _problem(function: str, problem: str) -> Exception:
    return error("BUCKET_ARGUMENTS", function=function, problem=problem, form=FORMS[function])


_CHECKS = {
    "indextables_histogram": _histogram,
    "indextables_date_histogram": _date_histogram,
    "indextables_range": _range,
}
