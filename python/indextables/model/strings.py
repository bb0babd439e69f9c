"""Strings that need not be UTF-8: Spark allows any bytes, and so does a table.

In Python such a string is a `str` with surrogate escapes, which no valid string has; in Arrow it is
a string array with the same bytes; in the log it is escaped (`render_string`).
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.model import kernels as pc
from indextables.model.arrays import small_array

if TYPE_CHECKING:
    from collections.abc import Sequence

# prefix of an escaped string that is not UTF-8; strings that start with it are escaped too
_MARK = "\x01bytes:"
_SURROGATES = re.compile("[\udc80-\udcff]")


def to_bytes(text: str) -> bytes:
    """The bytes of a string."""
    return text.encode("utf-8", "surrogateescape")


def from_bytes(data: bytes) -> str:
    """The string of these bytes."""
    return data.decode("utf-8", "surrogateescape")


def is_valid(text: str) -> bool:
    """Whether a string is UTF-8."""
    return _SURROGATES.search(text) is None


def valid_start(text: str) -> str:
    """The part of a string before the first byte that is not UTF-8."""
    found = _SURROGATES.search(text)
    return text if found is None else text[: found.start()]


def to_json(text: str) -> Any:
    """The JSON value of a string as the engine and the hooks write it."""
    if is_valid(text):
        return text
    return {"base64": base64.b64encode(to_bytes(text)).decode("ascii")}


def from_json(value: Any) -> str:
    """The inverse of `to_json`."""
    if isinstance(value, dict):
        return from_bytes(base64.b64decode(value["base64"]))
    return str(value)


def string_array(values: Sequence[str | None]) -> pa.Array:
    """Strings as Arrow."""
    if all(value is None or is_valid(value) for value in values):
        return small_array(values, pa.string())
    data = [None if value is None else to_bytes(value) for value in values]
    return pa.array(data, pa.binary()).view(pa.string())


def strings_of(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """The strings of an Arrow column of strings."""
    values = column.cast(pa.binary()).to_pylist()
    return [None if value is None else from_bytes(value) for value in values]


def render_string(text: str) -> str:
    """A string as valid UTF-8 for the log: unchanged if possible."""
    if is_valid(text) and not text.startswith(_MARK):
        return text
    escaped = "".join(f"%{byte:02X}" if byte in b"%" or byte > 127 else chr(byte)  # noqa: PLR2004 (ASCII)
                      for byte in to_bytes(text))  # fmt: skip
    return _MARK + escaped


def parse_string(text: str) -> str:
    """The inverse of `render_string`."""
    if not text.startswith(_MARK):
        return text
    first, *rest = to_bytes(text.removeprefix(_MARK)).split(b"%")
    return from_bytes(first + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in rest))


def parse_strings(texts: Any) -> Any:
    """A column of strings of the log, unescaped."""
    marked = pc.starts_with(texts, _MARK)
    if not pc.any(marked, min_count=0).as_py():
        return texts
    parsed = [None if text is None else parse_string(text) for text in texts.to_pylist()]
    return string_array(parsed)


def decoded(column: pa.Array) -> pa.Array:
    """The column with replacement characters for invalid UTF-8, as patterns see it."""
    try:
        return column.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        texts = column.cast(pa.binary()).to_pylist()
        return pa.array([None if t is None else t.decode("utf-8", "replace") for t in texts])
