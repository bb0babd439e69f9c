"""Lengths of time buckets: `15m`, `1 month`, `quarter`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# intervals of a fixed length in microseconds, and those that follow the calendar in months
_MICROS = {
    "ms": 1000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_MONTHS = {"M": 1, "q": 3, "y": 12}
_WORDS = {
    "millisecond": "ms",
    "second": "s",
    "minute": "m",
    "hour": "h",
    "day": "d",
    "week": "w",
    "month": "M",
    "quarter": "q",
    "year": "y",
}
_FORM = re.compile(r"\s*(-?[0-9]{1,9})?\s*([A-Za-z]+)\s*")
_LONGEST_MICROS = 1 << 62


@dataclass(frozen=True)
class Interval:
    """A number of units: ms, s, m, h, d, w, or M, q, y of the calendar."""

    number: int
    unit: str

    def __str__(self) -> str:
        return f"{self.number}{self.unit}"

    @property
    def micros(self) -> int | None:
        """Its length; None if that depends on the calendar."""
        return self.number * _MICROS[self.unit] if self.unit in _MICROS else None

    @property
    def months(self) -> int | None:
        """Its months; None if it has a fixed length."""
        return self.number * _MONTHS[self.unit] if self.unit in _MONTHS else None


def parse_interval(text: Any) -> Interval | None:
    """Parse an interval: a number and a unit or its name, or the name alone for one."""
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    word = found[2].lower().removesuffix("s") if len(found[2]) > 2 else found[2]  # noqa: PLR2004
    unit = word if word in _MICROS or word in _MONTHS else _WORDS.get(word)
    if unit is None or (found[1] is None and word == unit):
        return None
    interval = Interval(int(found[1] or 1), unit)
    return interval if abs(interval.micros or 0) < _LONGEST_MICROS else None
