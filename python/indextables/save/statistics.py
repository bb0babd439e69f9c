"""Column statistics as strings for the log; long ones are cut so that they remain bounds."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from indextables.config import log as keys
from indextables.expr.values import FLOATING, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.config.settings import Settings
    from indextables.engine.writer import ColumnStats
    from indextables.model.types import DataType, Struct

_EPOCH = date(1970, 1, 1)
_HIGHEST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_ALL = 1 << 31


def stats_length(settings: Settings) -> int:
    """How many characters of a string minimum or maximum are stored."""
    return settings.get(keys.STATS_MAX_LENGTH) if settings.get(keys.TRUNCATE_STATS) else _ALL


def render_extremes(
    columns: Mapping[str, ColumnStats], schema: Struct, settings: Settings
) -> tuple[dict[str, str], dict[str, str]]:
    """Minimum and maximum of every column that has them, as strings."""
    most = stats_length(settings)
    low: dict[str, str] = {}
    high: dict[str, str] = {}
    for name, stats in columns.items():
        field = schema.get(name)
        if field is None or stats.min is None or stats.max is None:
            continue
        least = _render(stats.min, field.type)
        greatest = _render(stats.max, field.type)
        if kind_of(field.type) == "string":
            greatest = cut_up(greatest, most)
            least = None if least is None else least[:most]
        # a single bound would claim something about values it does not cover
        if least is not None and greatest is not None:
            low[name], high[name] = least, greatest
    return low, high


def cut_up(text: str | None, length: int) -> str | None:
    """A string of at most this length that is not less; None if there is none."""
    if text is None or len(text) <= length:
        return text
    kept = text[:length]
    while kept:
        last = ord(kept[-1]) + 1
        if last in _SURROGATES:
            last = _SURROGATES.stop
        if last <= _HIGHEST:
            return kept[:-1] + chr(last)
        kept = kept[:-1]
    return None


def _render(value: Any, kind: DataType) -> str | None:
    name = kind_of(kind)
    if name == "boolean":
        return "true" if value else "false"
    if name == "date":
        return _iso(value)
    if name in FLOATING:
        number = float(value)
        if not math.isfinite(number):
            return None
        return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)  # noqa: PLR2004 (beyond, a float shows as an exponent)
    return str(value)


def _iso(days: int) -> str | None:
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:
        return None
