"""Partition values: strings in the log, folders in paths, typed values for pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from indextables.log.state import PartitionBounds
from indextables.model import kernels as pc
from indextables.model.strings import parse_strings
from indextables.model.types import DataType, Struct

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"

# what Hive and Spark escape in a folder name
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^ " + "".join(map(chr, range(1, 32)))) - {" "}


def without_nulls(values: Mapping[str, str | None]) -> dict[str, str]:
    """The values that are not null; null is absent, JSON null, or Hive's marker."""
    return {k: v for k, v in values.items() if v is not None and v != HIVE_NULL}


def escape(text: str) -> str:
    """A name or value as part of a folder name, escaped as Hive does."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def unescape(text: str) -> str:
    """Invert `escape`; a stray `%` is kept."""
    parts = text.split("%")
    out = [parts[0]]
    for part in parts[1:]:
        try:
            out.append(chr(int(part[:2], 16)) + part[2:] if len(part) > 1 else "%" + part)
        except ValueError:
            out.append("%" + part)
    return "".join(out)


def partition_folder(columns: Sequence[str], values: Mapping[str, str]) -> str:
    """`k=v/k2=v2`, empty for an unpartitioned table."""
    return "/".join(
        f"{escape(column)}={HIVE_NULL if values.get(column) is None else escape(values[column])}"
        for column in columns
    )


def split_path(columns: Sequence[str], values: Mapping[str, str], uuid: str) -> str:
    """The path of a new split."""
    folder = partition_folder(columns, values)
    return f"{folder}/splits/split-{uuid}.split" if folder else f"splits/split-{uuid}.split"


def parse_folder(path: str) -> dict[str, str]:
    """The partition values in a split's path (for rebuilding a log)."""
    values: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, separator, value = part.partition("=")
        if separator:
            values[unescape(name)] = unescape(value)
    return without_nulls(values)


def column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """The strings of a partition column, null where it has no value."""
    return pc.map_lookup(table["partitionValues"], pa.scalar(name), "first")


def typed(texts: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray | None:
    """Strings as values of the column's type, in that type's order; None if one does not parse."""
    wanted = data_type.to_arrow()
    if pa.types.is_string(wanted):
        return parse_strings(texts)
    try:
        return pc.cast(texts, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def bounds(table: pa.Table, schema: Struct, columns: Sequence[str]) -> dict[str, PartitionBounds]:
    """Smallest and largest value of each partition column, compared as its type; {} without any.

    A column with a null or a string that does not parse has no bounds: it may hold anything.
    """
    found = {}
    for name in columns:
        field = schema.get(name)
        texts = column(table, name)
        values = typed(texts, field.type) if field is not None else None
        if values is None or texts.null_count or not len(texts):
            continue
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            continue
        lowest, highest = pc.min_max(values).values()
        found[name] = PartitionBounds(
            texts[pc.index(values, lowest).as_py()].as_py(),
            texts[pc.index(values, highest).as_py()].as_py(),
        )
    return found


def sorted_by_partition(table: pa.Table, schema: Struct, columns: Sequence[str]) -> pa.Table:
    """The entries sorted by partition."""
    keys = {}
    for number, name in enumerate(columns):
        texts = column(table, name)
        field = schema.get(name)
        values = typed(texts, field.type) if field is not None else None
        keys[f"k{number}"] = texts if values is None else values
    if not keys:
        return table
    order = pc.sort_indices(pa.table(keys), [(key, "ascending") for key in keys])
    return table.take(order)
