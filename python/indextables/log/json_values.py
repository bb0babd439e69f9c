"""Read JSON of the log strictly: an error says what was expected, the caller adds where.

Numbers must be finite and fit their columns, strings must be encodable; so every value that was
read can be stored, compared and written again.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

_LONG = 1 << 63
_INT = 1 << 31
_MOST_SHOWN = 80
# the years 1 to 9999, which is what a timestamp column can show
_FIRST_MS = -62_135_596_800_000
_LAST_MS = 253_402_300_799_999
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a finite number")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)


def parse(source: str) -> Any:
    """The value of a JSON text; ValueError or RecursionError when it is not one."""
    value = _DECODER.decode(source)
    if _SURROGATE.search(source):
        # half of a surrogate pair can never be encoded
        json.dumps(value, ensure_ascii=False).encode()
    return value


def whole(value: Any) -> int:
    """A whole number of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a whole number was expected, not {_shown(value)}")
    if not -_LONG <= value < _LONG:
        raise ValueError(f"{_shown(value)} is out of range")
    return value


def natural(value: Any) -> int:
    """A whole number of 64 bits that is not negative."""
    if whole(value) < 0:
        raise ValueError(f"{value} is negative")
    return int(value)


def small(value: Any) -> int:
    """A whole number of 32 bits."""
    if not -_INT <= whole(value) < _INT:
        raise ValueError(f"{_shown(value)} is out of range")
    return int(value)


def timestamp(value: Any) -> int:
    """Milliseconds since 1970, within the years that can be shown."""
    if not _FIRST_MS <= whole(value) <= _LAST_MS:
        raise ValueError(f"{_shown(value)} is not a valid timestamp in milliseconds")
    return int(value)


def text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {_shown(value)}")
    return value


def truth(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"true or false was expected, not {_shown(value)}")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """A list of strings."""
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {_shown(value)}")
    return tuple(text(each) for each in value)


def members(value: Any) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {_shown(value)}")
    return value


def text_map(value: Any) -> dict[str, str]:
    """An object of strings; null members are left out."""
    found = members(value)
    for each in found.values():
        if type(each) is not str:
            return {k: text(v) for k, v in found.items() if v is not None}
    return found


def _shown(value: Any) -> str:
    return repr(value)[:_MOST_SHOWN]
