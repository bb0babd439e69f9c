"""Arguments of plain Python, checked where they are passed: an error names the wrong one."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, TypeAlias

from indextables.errors import IndexTablesError, error

Path: TypeAlias = str | os.PathLike[str]
Timestamp: TypeAlias = str | float | datetime
Names: TypeAlias = str | Sequence[str]

# the engine counts rows in 64 bits
_MOST_ROWS = 2**63 - 1


def path_of(path: Path) -> str:
    """The text of a path or URL. An empty one would be the current folder."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text or "\0" in text or not _is_unicode(text):
        raise _wrong("path", path, "a path or a URL")
    return text


def options_of(options: Mapping[str, str] | None) -> dict[str, str]:
    """Configuration keys and their values."""
    given = {} if options is None else options
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise _wrong("options", options, "a dictionary of keys and values")
    for text in (*given, *given.values()):
        text_of(str(text), "options")
    return dict(given)


def timestamp_of(timestamp: Timestamp) -> str:
    """A timestamp as text; a `datetime` without a zone is in UTC."""
    if isinstance(timestamp, datetime):
        return timestamp.isoformat()
    if isinstance(timestamp, bool) or not isinstance(timestamp, str | int | float):
        wanted = "an ISO string, a `datetime`, or seconds or milliseconds since 1970"
        raise _wrong("timestamp", timestamp, wanted)
    return str(timestamp)


def version_of(version: int, argument: str = "version") -> int:
    """The number of a version; the log says which ones there are."""
    number = _whole(version)
    if number is None:
        raise _wrong(argument, version, "the number of a version")
    return number


def count_of(count: int, argument: str) -> int:
    """A number of rows, words or commits."""
    number = _whole(count)
    if number is None or number < 0:
        raise _wrong(argument, count, "a whole number from 0")
    return min(number, _MOST_ROWS)


def limit_of(limit: int | None) -> int | None:
    """How many at most; None for all."""
    return None if limit is None else count_of(limit, "limit")


def text_of(text: str, argument: str) -> str:
    """A text. Whether it may be empty, its parser says."""
    if not isinstance(text, str) or not _is_unicode(text):
        raise _wrong(argument, text, "a text")
    return text


def names_of(names: Names, argument: str) -> tuple[str, ...]:
    """Several texts; a text alone is one of them."""
    given = (names,) if isinstance(names, str) else names
    try:
        found = tuple(given)
    except TypeError:
        raise _wrong(argument, names, "a list of texts") from None
    if not all(isinstance(name, str) for name in found):
        raise _wrong(argument, names, "a list of texts")
    return found


def named_of(given: Mapping[str, str] | Names, argument: str) -> dict[str, str]:
    """Texts of expressions by the names of their columns."""
    if not isinstance(given, Mapping):
        return {text: text for text in names_of(given, argument)}
    names_of([*given, *given.values()], argument)
    return dict(given)


def values_of(values: Mapping[str, Any] | None, argument: str) -> dict[str, Any]:
    """New values by column, at least one: an update without any would rewrite rows for nothing."""
    if not isinstance(values, Mapping) or not values:
        raise _wrong(argument, values, "a dictionary of columns and their new values")
    names_of(list(values), argument)
    return dict(values)


def weights_of(fields: Mapping[str, float] | Names) -> dict[str, float]:
    """Fields to search and their weights."""
    if not isinstance(fields, Mapping):
        return dict.fromkeys(names_of(fields, "fields"), 1.0)
    names_of(list(fields), "fields")
    for weight in fields.values():
        if not isinstance(weight, int | float) or not isfinite(weight) or weight < 0:
            raise _wrong("fields", fields, "names of columns with weights from 0")
    return dict(fields)


def _is_unicode(text: str) -> bool:
    """Whether it has no half characters, which commands get for bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _whole(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _wrong(argument: str, value: Any, wanted: str) -> IndexTablesError:
    return error("ARGUMENT_INVALID", argument=argument, value=repr(value), wanted=wanted)
