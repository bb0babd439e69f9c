"""The rules of a time zone for the engine: offsets from UTC, and when they change.

Spark's hooks send the rules of the JVM. Here they come from Python's time zone database: the file
of a zone (TZif, RFC 9636), whose last line has the rules for all later years.
"""

from __future__ import annotations

import importlib.resources
import re
import struct
import zoneinfo
from functools import lru_cache
from pathlib import Path
from typing import Any

from indextables.errors import error

_HEADER = struct.Struct(">4sc15x6I")
_NAME = r"(?:<[^>]+>|[A-Za-z]+)"
_TIME = r"[+-]?\d+(?::\d+){0,2}"
_DATE = rf"M(\d+)\.(\d)\.(\d)(?:/({_TIME}))?"
_RULES = re.compile(rf"{_NAME}({_TIME}){_NAME}({_TIME})?,{_DATE},{_DATE}")
_LAST_WEEK = 5
_HOUR = 3600


@lru_cache(maxsize=64)
def clock_of(zone: str) -> dict[str, Any]:
    """The rules of a zone by its name, such as `Europe/Berlin`."""
    try:
        data = _read(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise error("TIME_ZONE_UNKNOWN", zone=zone) from None
    # the first part is for readers that support 32 bits only
    _, _, first = _layout(data, 0, 4)
    (changes, kinds), start, end = _layout(data, first, 8)
    times = struct.unpack_from(f">{changes}q", data, start)
    used = data[start + 8 * changes : start + 9 * changes]
    offsets = [
        struct.unpack_from(">i", data, start + 9 * changes + 6 * kind)[0] for kind in range(kinds)
    ]
    return {
        "offset": offsets[0],
        "transitions": [[time, offsets[kind]] for time, kind in zip(times, used, strict=True)],
        "rules": _rules(data[end:].decode("ascii").strip()),
        # as in Spark 4.3
        "keeps_offset": True,
    }


def _read(zone: str) -> bytes:
    """The file of a zone, found as `zoneinfo` finds it."""
    zoneinfo.ZoneInfo(zone)
    for folder in zoneinfo.TZPATH:
        file = Path(folder, zone)
        if file.is_file():
            return file.read_bytes()
    package, _, name = f"tzdata.zoneinfo.{zone.replace('/', '.')}".rpartition(".")
    return importlib.resources.files(package).joinpath(name).read_bytes()


def _layout(data: bytes, start: int, width: int) -> tuple[tuple[int, int], int, int]:
    """The numbers of transitions and local time types of a part, and the range of its data."""
    _, _, utc, standard, leaps, changes, kinds, chars = _HEADER.unpack_from(data, start)
    begin = start + _HEADER.size
    sizes = changes * (width + 1) + kinds * 6 + chars + leaps * (width + 4) + standard + utc
    return (changes, kinds), begin, begin + sizes


def _rules(text: str) -> list[dict[str, int]]:
    """The yearly changes of a POSIX `TZ` string, such as `CET-1CEST,M3.5.0,M10.5.0/3`."""
    found = _RULES.fullmatch(text)
    if found is None:
        return []
    standard = -_seconds(found[1])
    summer = standard + _HOUR if found[2] is None else -_seconds(found[2])
    begin, end = found.groups()[2:6], found.groups()[6:10]
    return [_rule(begin, standard, summer), _rule(end, summer, standard)]


def _rule(date: tuple[str | None, ...], before: int, after: int) -> dict[str, int]:
    month, week, weekday = (int(part or 0) for part in date[:3])
    return {
        "month": month,
        "day": -1 if week == _LAST_WEEK else 7 * week - 6,
        "weekday": weekday or 7,
        "second": 2 * _HOUR if date[3] is None else _seconds(date[3]),
        "shift": before,
        "offset": after,
    }


def _seconds(text: str) -> int:
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    total = sum(part * unit for part, unit in zip(parts, (_HOUR, 60, 1), strict=False))
    return -total if text.startswith("-") else total
