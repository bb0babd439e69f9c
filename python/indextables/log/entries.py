"""Live splits as an Arrow table: one row per entry, the same columns wherever they came from."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from indextables.log.actions import AddFile, DeletionVector

_MAP = pa.map_(pa.string(), pa.string())
_TEXTS = pa.list_(pa.field("item", pa.string()))
VECTOR = pa.struct(
    [
        pa.field("file", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("cardinality", pa.int64()),
    ]
)
# column, attribute of AddFile, type; `extra` holds unknown members as JSON text
_COLUMNS: tuple[tuple[str, str, pa.DataType], ...] = (
    ("path", "path", pa.string()),
    ("partitionValues", "partition_values", _MAP),
    ("size", "size", pa.int64()),
    ("modificationTime", "modification_time", pa.int64()),
    ("dataChange", "data_change", pa.bool_()),
    ("stats", "stats", pa.string()),
    ("minValues", "min_values", _MAP),
    ("maxValues", "max_values", _MAP),
    ("numRecords", "num_records", pa.int64()),
    ("footerStartOffset", "footer_start_offset", pa.int64()),
    ("footerEndOffset", "footer_end_offset", pa.int64()),
    ("hasFooterOffsets", "has_footer_offsets", pa.bool_()),
    ("deleteOpstamp", "delete_opstamp", pa.int64()),
    ("splitTags", "split_tags", _TEXTS),
    ("numMergeOps", "num_merge_ops", pa.int32()),
    ("docMappingJson", "doc_mapping_json", pa.string()),
    ("docMappingRef", "doc_mapping_ref", pa.string()),
    ("uncompressedSizeBytes", "uncompressed_size_bytes", pa.int64()),
    ("timeRangeStart", "time_range_start", pa.string()),
    ("timeRangeEnd", "time_range_end", pa.string()),
    ("addedAtVersion", "added_at_version", pa.int64()),
    ("addedAtTimestamp", "added_at_timestamp", pa.int64()),
    ("companionSourceFiles", "companion_source_files", _TEXTS),
    ("companionDeltaVersion", "companion_delta_version", pa.int64()),
    ("companionFastFieldMode", "companion_fast_field_mode", pa.string()),
    ("deletionVector", "deletion_vector", VECTOR),
    ("extra", "extra", pa.string()),
)
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
SCHEMA = pa.schema([pa.field(name, type_, name not in _REQUIRED) for name, _, type_ in _COLUMNS])


def from_adds(adds: Iterable[AddFile]) -> pa.Table:
    """A table with one row per added file."""
    rows = list(adds)
    columns = [
        pa.array([_cell(name, getattr(row, attribute)) for row in rows], type_)
        for name, attribute, type_ in _COLUMNS
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _cell(name: str, value: Any) -> Any:
    if name == "extra":
        return json.dumps(value) if value else None
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, DeletionVector):
        return vars(value)
    return value


def to_adds(table: pa.Table) -> list[AddFile]:
    """The rows as actions; for the few files an operation touches, not for whole tables."""
    return [_add(row) for row in table.to_pylist()]


def _add(row: Mapping[str, Any]) -> AddFile:
    values = {attribute: row[name] for name, attribute, _ in _COLUMNS if name in row}
    for name in ("partition_values", "min_values", "max_values"):
        if values.get(name) is not None:
            values[name] = dict(values[name])
    for name in ("split_tags", "companion_source_files"):
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    if values.get("deletion_vector") is not None:
        values["deletion_vector"] = DeletionVector(**values["deletion_vector"])
    values["extra"] = json.loads(values["extra"]) if values.get("extra") else {}
    return AddFile(**values)


def texts(values: Iterable[str]) -> pa.Array:
    """An array of texts.

    `pa.array` would import pandas, which takes longer than opening a table does.
    """
    encoded = [value.encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def concat(tables: Sequence[pa.Table]) -> pa.Table:
    """The tables one after another."""
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()
