"""Live splits as an Arrow table: one row per entry, the same columns whatever the source."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from json import dumps, loads
from typing import Any

import pyarrow as pa

from indextables.log.actions import AddFile, CompanionRun, DeletionVector, RemoveFile
from indextables.log.members import (
    ADD_MEMBERS,
    BY_TYPE,
    MAP,
    RUNS,
    TEXTS,
    VALUES,
    VECTOR,
    Kind,
    Member,
)
from indextables.model.arrays import small_array

_REQUIRED = {
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "hasFooterOffsets",
    "addedAtVersion",
    "addedAtTimestamp",
}
# unknown members of an entry, as JSON text
_EXTRA = pa.field("extra", pa.string())
SCHEMA = pa.schema(
    [pa.field(m.name, m.kind.arrow, m.name not in _REQUIRED) for m in ADD_MEMBERS] + [_EXTRA]
)


EMPTY = pa.Table.from_batches([], SCHEMA)
_REMOVE_MEMBERS = BY_TYPE[RemoveFile].members
# removals in a log file
REMOVES = pa.schema(
    [pa.field(m.name, m.kind.arrow, m.name not in _REQUIRED - {"size", "partitionValues"})
     for m in _REMOVE_MEMBERS] + [_EXTRA]
)  # fmt: skip


def from_adds(adds: Iterable[AddFile]) -> pa.Table:
    """A table with one row per added split."""
    rows = list(adds)
    columns = [
        small_array([_cell(getattr(row, member.attribute)) for row in rows], member.kind.arrow)
        for member in ADD_MEMBERS
    ]
    extra = [dumps(row.extra) if row.extra else None for row in rows]
    return pa.Table.from_arrays([*columns, small_array(extra, pa.string())], schema=SCHEMA)


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, tuple) and value and isinstance(value[0], CompanionRun):
        return RUNS.write(value)
    return VECTOR.write(value) if isinstance(value, DeletionVector) else value


def to_adds(table: pa.Table) -> list[AddFile]:
    """The rows as actions; for the few splits that an operation touches, not for whole tables."""
    known = [member for member in ADD_MEMBERS if member.name in table.column_names]
    return [AddFile(**_values(row, known)) for row in table.to_pylist()]


def to_removes(table: pa.Table) -> list[RemoveFile]:
    """The rows of a table of removals as actions."""
    return [RemoveFile(**_values(row, _REMOVE_MEMBERS)) for row in table.to_pylist()]


def _values(row: Mapping[str, Any], known: Sequence[Member]) -> dict[str, Any]:
    values = {member.attribute: _value(row[member.name], member.kind) for member in known}
    return values | {"extra": loads(row["extra"]) if row.get("extra") else {}}


def stamped(table: pa.Table, version: int, timestamp: int) -> pa.Table:
    """The entries of a commit, with its version and timestamp."""
    values = {
        "addedAtVersion": pa.repeat(pa.scalar(version, pa.int64()), table.num_rows),
        "addedAtTimestamp": pa.repeat(pa.scalar(timestamp, pa.int64()), table.num_rows)
        if timestamp
        else table["modificationTime"],
    }
    columns = [values.get(name, table[name]) for name in SCHEMA.names]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _value(cell: Any, kind: Kind) -> Any:
    if cell is None:
        return None
    if kind in (MAP, VALUES):
        return dict(cell)
    if kind is TEXTS:
        return tuple(cell)
    if kind is RUNS:
        return tuple(CompanionRun(*run.values()) for run in cell)
    return DeletionVector(**cell) if kind is VECTOR else cell


def texts(values: Iterable[str]) -> pa.Array:
    """An array of strings.

    `pa.array` would import pandas, which takes longer than opening a table does.
    """
    encoded = [value.encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def concat(tables: Sequence[pa.Table]) -> pa.Table:
    """The concatenated tables."""
    return pa.concat_tables(tables) if tables else EMPTY
