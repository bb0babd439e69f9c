"""Partition values: strings in the log, typed values in plans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.errors import error
from indextables.expr.literals import parse_literal
from indextables.expr.values import kind_of
from indextables.model import kernels as pc
from indextables.model.arrays import small_array, small_scalar
from indextables.model.strings import parse_strings, string_array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.expr.predicate import Path
    from indextables.model.types import DataType, Struct

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_TIMES = ("timestamp", "timestamp_ntz")
# how older writers spell a timestamp without a time zone; longer than any year
_MICROS = re.compile(r"-?\d{8,18}")


def map_column(maps: pa.ChunkedArray | pa.Array, key: str) -> pa.Array:
    """The string of one key in a column of maps; null where the key is missing."""
    if isinstance(maps, pa.ChunkedArray):
        chunks = [map_column(chunk, key) for chunk in maps.chunks]
        return pa.concat_arrays(chunks) if chunks else small_array([], pa.string())
    # pc.map_lookup goes row by row; a filter of all keys at once is several times faster
    keys = pa.ListArray.from_arrays(maps.offsets, maps.keys)
    items = pa.ListArray.from_arrays(maps.offsets, maps.items)
    hit = pc.equal(keys.flatten(), small_scalar(key, maps.type.key_type))
    found = pc.list_parent_indices(keys).filter(hit)
    one = small_scalar(1, found.type)
    rows = pc.subtract(pc.cumulative_sum(pa.repeat(one, len(maps))), one)
    text = items.flatten().filter(hit).take(pc.index_in(rows, found))
    return pc.if_else(pc.is_null(maps), small_scalar(None, pa.string()), text.cast(pa.string()))


def typed_partition(maps: pa.ChunkedArray | pa.Array, name: str, kind: DataType) -> pa.Array:
    """A partition column of all splits, in its declared type."""
    text = map_column(maps, name)
    null = pc.equal(text, small_scalar(HIVE_NULL, text.type))
    text = pc.if_else(null, small_scalar(None, pa.string()), text)
    if kind_of(kind) == "string":
        return parse_strings(text)
    # few distinct values, however many splits
    encoded = text.dictionary_encode()
    distinct = [parse_value(t, kind, name) for t in encoded.dictionary.to_pylist()]
    return typed_array(distinct, kind).take(encoded.indices)


def typed_array(values: list[Any], kind: DataType) -> pa.Array:
    """Python values (in the form of `expr.values`) as an Arrow array of a column type."""
    arrow = kind.to_arrow()
    if pa.types.is_date32(arrow):
        return pa.array(values, pa.int32()).cast(arrow)
    if pa.types.is_timestamp(arrow) or pa.types.is_duration(arrow):
        return pa.array(values, pa.int64()).cast(arrow)
    return string_array(values) if pa.types.is_string(arrow) else pa.array(values, arrow)


def parse_value(text: str | None, kind: DataType, column: str) -> Any:
    """Parse a partition value into the form of `expr.values`."""
    if text is None or text == HIVE_NULL:
        return None
    if kind_of(kind) in _TIMES and _MICROS.fullmatch(text):
        return int(text)
    try:
        value = parse_literal(text, kind)
        # a number may be too large for its column; Arrow's errors are ValueErrors
        typed_array([value], kind)
    except (KeyError, ValueError, ArithmeticError) as problem:
        raise error(
            "PARTITION_VALUE_INVALID", column=column, value=text, type=kind.to_json()
        ) from problem
    return value


def partition_arrays(
    files: pa.Table, schema: Struct, partition_columns: tuple[str, ...]
) -> Mapping[Path, pa.Array]:
    """All partition columns of a snapshot's files, typed, by path."""
    maps = files.column("partitionValues")
    arrays: dict[Path, pa.Array] = {}
    for name in partition_columns:
        field = schema.get(name)
        if field is not None:
            arrays[name,] = typed_partition(maps, name, field.type)
    return arrays
