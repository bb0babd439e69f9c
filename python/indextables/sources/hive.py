"""Hive partitions: `k=v` folders, with the types that Spark infers for their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa

from indextables.errors import error
from indextables.expr.calendar import parse_timestamp
from indextables.log.partitions import HIVE_NULL, unescape
from indextables.model.types import Atomic, DataType, Decimal, Field

_INTEGER = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(
    r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|NaN|Infinity)[dDfF]?\s*"
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?")
_SHAPES: tuple[tuple[re.Pattern[str], DataType, Callable[[str], Any]], ...] = (
    (_DOUBLE, Atomic("double"), str),
    (_DATE, Atomic("date"), date.fromisoformat),
    (_TIMESTAMP, Atomic("timestamp"), parse_timestamp),
)
_INT_MAX, _LONG_MAX, _MAX_DIGITS = 2**31, 2**63, 38
_STRING = Atomic("string")
_WIDTH = ("integer", "long", "double")


@dataclass(frozen=True)
class HivePartitions:
    """The partition columns of a folder and their values, one per file."""

    fields: tuple[Field, ...] = ()
    values: Mapping[str, pa.Array] = field(default_factory=dict)


def infer_partitions(paths: Sequence[str]) -> HivePartitions:
    """The partition columns in the folder names of files."""
    folders = [_pairs(path) for path in paths]
    names = [name for name, _ in folders[0]] if folders else []
    for path, pairs in zip(paths, folders, strict=True):
        if [name for name, _ in pairs] != names:
            detail = f"`{path}` is not in folders of the columns {names or 'of no partition'}"
            raise error("COMPANION_SOURCE", format="Parquet", path=path, detail=detail)
    fields, values = [], {}
    for place, name in enumerate(names):
        texts = [pairs[place][1] for pairs in folders]
        kind = _common([_infer(text) for text in set(texts) if text is not None])
        fields.append(Field(name, kind))
        values[name] = _typed(texts, kind)
    return HivePartitions(tuple(fields), values)


def _pairs(path: str) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for part in path.split("/")[:-1]:
        name, equal, value = part.partition("=")
        if equal:
            found.append((unescape(name), None if value == HIVE_NULL else unescape(value)))
        elif found:
            raise error(
                "COMPANION_SOURCE",
                format="Parquet",
                path=path,
                detail=f"the folder `{part}` is not a partition, although folders above it are",
            )
    return found


def _infer(text: str) -> DataType:
    if _INTEGER.fullmatch(text):
        return _infer_whole(int(text))
    for pattern, kind, parse in _SHAPES:
        if pattern.fullmatch(text) and _parses(parse, text):
            return kind
    return _STRING


def _infer_whole(number: int) -> DataType:
    if -_INT_MAX <= number < _INT_MAX:
        return Atomic("integer")
    if -_LONG_MAX <= number < _LONG_MAX:
        return Atomic("long")
    digits = len(str(abs(number)))
    return Decimal(digits, 0) if digits <= _MAX_DIGITS else Atomic("double")


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _common(kinds: Sequence[DataType]) -> DataType:
    """The type that holds values of all these types, as Spark widens them."""
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    if found == {Atomic("date"), Atomic("timestamp")}:
        return Atomic("timestamp")
    if not found or not all(map(_is_number, found)):
        return _STRING
    names = {kind.name for kind in found if isinstance(kind, Atomic)}
    precisions = [kind.precision for kind in found if isinstance(kind, Decimal)]
    if "double" in names or not precisions:
        return Atomic(max(names, key=_WIDTH.index))
    # integers of any width; Spark gives a long up to 20 digits
    return Decimal(max([*precisions, 20 if "long" in names else 10]), 0)


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, Decimal) or (isinstance(kind, Atomic) and kind.name in _WIDTH)


def _typed(texts: Sequence[str | None], kind: DataType) -> pa.Array:
    parse: dict[str, Callable[[str], Any]] = {
        "integer": int,
        "long": int,
        "double": lambda text: float(text.strip().rstrip("dDfF")),
        "date": date.fromisoformat,
        "timestamp": parse_timestamp,
    }
    if isinstance(kind, Decimal):
        values = [None if text is None else Number(text) for text in texts]
        return pa.array(values, kind.to_arrow())
    assert isinstance(kind, Atomic)
    read = parse.get(kind.name, str)
    values = [None if text is None else read(text) for text in texts]
    if kind.name == "timestamp":
        return pa.array(values, pa.int64()).cast(kind.to_arrow())
    return pa.array(values, kind.to_arrow())
