"""Typed reading of JSON values: a TypeError says what was expected, the caller says where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def optional(reader: Callable[[Any], Any], value: Any) -> Any:
    """Read a value unless it is null."""
    return None if value is None else reader(value)


def whole(value: Any) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a whole number was expected, not {value!r}")
    return value


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {value!r}")
    return value


def truth(value: Any, *, default: bool) -> bool:
    """True or false, or the default where it is absent."""
    if value is None:
        return default
    if not isinstance(value, bool):
        raise TypeError(f"true or false was expected, not {value!r}")
    return value


def texts(value: Any) -> tuple[str, ...] | None:
    """A list of texts, or None."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {value!r}")
    return tuple(text(each) for each in value)


def nullable_map(value: Any) -> dict[str, str | None]:
    """An object of texts or nulls."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {value!r}")
    return {k: optional(text, v) for k, v in value.items()}


def text_map(value: Any) -> dict[str, str] | None:
    """An object of texts, or None; null members are left out."""
    if value is None:
        return None
    return {k: v for k, v in nullable_map(value).items() if v is not None}
