"""Partition values: as text in the log, as folders in paths, as typed values for pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"

# what Hive and Spark escape in a folder name
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^ " + "".join(map(chr, range(1, 32)))) - {" "}


def without_nulls(values: Mapping[str, str | None]) -> dict[str, str]:
    """The values that are not null; null is spelled as absent, JSON null, or Hive's word."""
    return {k: v for k, v in values.items() if v is not None and v != HIVE_NULL}


def escape(text: str) -> str:
    """A name or value as part of a folder name, escaped as Hive does."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def unescape(text: str) -> str:
    """The inverse of `escape`; a stray `%` stands for itself."""
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
    """Where a new split is written."""
    folder = partition_folder(columns, values)
    return f"{folder}/splits/split-{uuid}.split" if folder else f"splits/split-{uuid}.split"


def parse_folder(path: str) -> dict[str, str]:
    """The partition values spelled in a split's path (for rebuilding a log)."""
    values: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, separator, value = part.partition("=")
        if separator:
            values[unescape(name)] = unescape(value)
    return without_nulls(values)
