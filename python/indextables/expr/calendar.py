"""Dates and timestamps as Spark writes them, for every year that Spark supports.

Python's own dates end with the year 9999 and have no year 0.
"""

from __future__ import annotations

import re

DAY_MICROS = 86_400_000_000
_SECOND_MICROS = 1_000_000
# days from 0000-03-01, the start of the leap-year cycle, to 1970-01-01
_CYCLE_START = 719_468
_CYCLE_DAYS = 146_097
_LAST_PLAIN_YEAR = 9999
_DATE = re.compile(r"\s*([+-]?\d{4,7})-(\d{1,2})-(\d{1,2})(?=$|[T\s])")
_TIME = re.compile(
    r"[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?\s*$"
)


def year_of(days: int) -> int:
    """The year of a day."""
    return _civil(days)[0]


def render_date(days: int) -> str:
    """A day as `2024-01-31`; years beyond four digits have a sign."""
    year, month, day = _civil(days)
    if year > _LAST_PLAIN_YEAR:
        return f"+{year}-{month:02d}-{day:02d}"
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def parse_date(text: str) -> int:
    """Parse a date into its day number; a time after it is ignored."""
    found = _DATE.match(text)
    if found is None:
        raise ValueError(text)
    return _days(int(found[1]), int(found[2]), int(found[3]))


def render_timestamp(micros: int) -> str:
    """Microseconds as `2024-01-31 12:00:00`, with a fraction only if it is not zero."""
    days, rest = divmod(micros, DAY_MICROS)
    seconds, fraction = divmod(rest, _SECOND_MICROS)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{render_date(days)} {clock}{tail}"


def parse_timestamp(text: str) -> int:
    """Parse a timestamp in any common format into microseconds; without a zone it is UTC."""
    date = _DATE.match(text)
    if date is None:
        raise ValueError(text)
    micros = parse_date(text) * DAY_MICROS
    rest = text[date.end() :].rstrip()
    if not rest:
        return micros
    found = _TIME.match(rest)
    if found is None:
        raise ValueError(text)
    hours, minutes, seconds = (int(found[part] or 0) for part in (1, 2, 3))
    fraction = int((found[4] or "0")[:6].ljust(6, "0"))
    clock = (hours * 3600 + minutes * 60 + seconds) * _SECOND_MICROS + fraction
    return micros + clock - _zone(found[5])


def _zone(text: str | None) -> int:
    if text is None or text in ("Z", "UTC"):
        return 0
    digits = text[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return (-seconds if text[0] == "-" else seconds) * _SECOND_MICROS


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of the proleptic Gregorian calendar."""
    cycle, day_of_cycle = divmod(days + _CYCLE_START, _CYCLE_DAYS)
    year = (
        day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36_524 - day_of_cycle // 146_096
    ) // 365
    day_of_year = day_of_cycle - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9  # noqa: PLR2004 (years begin in March)
    return year + cycle * 400 + (month <= 2), month, day  # noqa: PLR2004


def _days(year: int, month: int, day: int) -> int:
    if not (1 <= month <= 12 and 1 <= day <= 31):  # noqa: PLR2004
        raise ValueError(f"{year}-{month}-{day}")
    shifted_year = year - (month <= 2)  # noqa: PLR2004
    cycle, year_of_cycle = divmod(shifted_year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year
    days = cycle * _CYCLE_DAYS + day_of_cycle - _CYCLE_START
    if _civil(days) != (year, month, day):
        raise ValueError(f"{year}-{month}-{day}")
    return days
