"""Values, sizes, numbers and timestamps for people."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import decimal
import json
import math
import struct
from typing import Any

_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_SPANS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))
_THOUSAND = 1000
_FEW = 10
UNKNOWN = "–"  # noqa: RUF001


def text(value: Any) -> str:
    """A value for people."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _shortest(value)
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, default=plain, ensure_ascii=False)
    return str(plain(value)) if not isinstance(value, str | int) else str(value)


def _shortest(value: float) -> str:
    """Six digits if they are the value, as a float or as a double, else all."""
    short = f"{value:g}"
    if not math.isfinite(value) or float(short) == value:
        return short
    with contextlib.suppress(OverflowError):
        if _single(float(short)) == value:
            return short
    return repr(value)


def _single(value: float) -> float:
    """The nearest float of four bytes."""
    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


def plain(value: Any) -> Any:
    """The string of a value that JSON cannot represent."""
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, decimal.Decimal | dt.timedelta):
        return str(value)
    raise TypeError(type(value).__name__)


def finite(value: Any) -> Any:
    """The value with NaN and infinities as strings, as Spark's `to_json` has them."""
    if isinstance(value, float):
        names = {math.inf: "Infinity", -math.inf: "-Infinity"}
        return value if math.isfinite(value) else names.get(value, "NaN")
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value


def cut(shown: str, most: int) -> str:
    """The string cut to a maximum number of characters, with an ellipsis if it is longer."""
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def size(amount: int) -> str:
    """Bytes with a unit, such as 3.2 MB."""
    value = float(amount)
    for unit in _UNITS:
        if value < _THOUSAND or unit == _UNITS[-1]:
            break
        value /= _THOUSAND
    return f"{amount} B" if unit == "B" else f"{value:.1f} {unit}"


def number(amount: float | None) -> str:
    """A number with separators, or a dash if it is unknown."""
    return UNKNOWN if amount is None else f"{amount:,}"


def counted(amount: int, noun: str) -> str:
    """A number with its noun, such as `1 split` and `2 splits`."""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def stamp(millis: int | None) -> str:
    """A timestamp in UTC, to the second."""
    if not millis:
        return UNKNOWN
    try:
        when = dt.datetime.fromtimestamp(millis / 1000, dt.UTC)
    except (OverflowError, OSError, ValueError):
        return UNKNOWN
    return when.strftime("%Y-%m-%d %H:%M:%S")


def ago(millis: int, now: int) -> str:
    """The time since a timestamp, such as `3 hours ago`."""
    age = max(now - millis, 0)
    for length, unit in _SPANS:
        if age >= length:
            return f"{counted(age // length, unit)} ago"
    return "just now"


def percent(share: float) -> str:
    """A share of one as a percentage."""
    shown = share * 100
    return f"{shown:.1f} %" if 0 < shown < _FEW else f"{shown:.0f} %"
