"""Deletes of an Iceberg snapshot: which rows of which data files they hide.

The library pairs data files with position deletes and deletion vectors. It does not read equality
deletes: they hide the rows of older files that have one of their values in some columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyroaring import BitMap

from indextables.errors import error
from indextables.model import kernels as pc
from indextables.sources.library import load_library
from indextables.sources.table import relative_path

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.table import FileScanTask, Table


@dataclass(frozen=True)
class PlannedFiles:
    """The data files of a snapshot, with the deletes that hide their rows.

    `sequences` are the data sequence numbers by path: equality deletes apply to older files.
    """

    tasks: tuple[FileScanTask, ...] = ()
    sequences: Mapping[str, int] = field(default_factory=dict)
    equality: tuple[ManifestEntry, ...] = ()


def plan_snapshot(table: Table, snapshot_id: int) -> PlannedFiles:
    """The files of a snapshot."""
    library = load_library("pyiceberg.table", "iceberg")
    contents = load_library("pyiceberg.manifest", "iceberg").DataFileContent
    snapshot = table.snapshot_by_id(snapshot_id)
    assert snapshot is not None, snapshot_id
    sequences: dict[str, int] = {}
    equality: list[ManifestEntry] = []

    def keep(entry: ManifestEntry) -> bool:
        if entry.data_file.content == contents.EQUALITY_DELETES:
            equality.append(entry)
            return False
        if entry.data_file.content == contents.DATA:
            sequences[entry.data_file.file_path] = entry.sequence_number or 0
        return True

    planner = library.ManifestGroupPlanner(table.metadata, table.io)
    tasks = tuple(planner.plan_files(snapshot.manifests(table.io), keep))
    return PlannedFiles(tasks, sequences, tuple(equality))


def deleted_rows(table: Table, planned: PlannedFiles) -> dict[str, BitMap]:
    """The rows that deletes of a snapshot hide, by the path of their file."""
    location = table.location()
    found = position_deletes(table.io, planned.tasks, location)
    values = _Values(table)
    for task in planned.tasks:
        matching = [entry for entry in planned.equality if _applies(table, planned, entry, task)]
        rows = values.matches(task, matching)
        if rows:
            path = relative_path(task.file.file_path, location)
            found.setdefault(path, BitMap()).update(rows)
    return found


def position_deletes(io: FileIO, tasks: Iterable[FileScanTask], location: str) -> dict[str, BitMap]:
    """The rows that position deletes and deletion vectors of a snapshot name."""
    reading = load_library("pyiceberg.io.pyarrow", "iceberg")
    read: dict[str, Mapping[str, pa.ChunkedArray]] = {}
    found: dict[str, BitMap] = {}
    for task in tasks:
        for deletes in task.delete_files:
            # a deletion vector is one of many blobs in a file
            key = f"{deletes.file_path} {getattr(deletes, 'content_offset', None)}"
            if key not in read:
                read[key] = reading._read_deletes(io, deletes)  # noqa: SLF001 (no public reader)
            rows = read[key].get(task.file.file_path)
            if rows is not None and len(rows):
                path = relative_path(task.file.file_path, location)
                found.setdefault(path, BitMap()).update(rows.to_numpy())
    return found


def _applies(table: Table, planned: PlannedFiles, entry: ManifestEntry, task: FileScanTask) -> bool:
    """Whether an equality delete applies to a file: an older one of its partition."""
    deletes, file = entry.data_file, task.file
    if (entry.sequence_number or 0) <= planned.sequences[file.file_path]:
        return False
    if not table.specs()[deletes.spec_id].fields:
        # without partitions it applies to all files
        return True
    return deletes.spec_id == file.spec_id and deletes.partition == file.partition


class _Values:
    """Reads the columns that equality deletes compare, each delete file once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._read: dict[str, pa.Table] = {}

    def matches(self, task: FileScanTask, entries: Sequence[ManifestEntry]) -> BitMap:
        """The rows of a file that have the values of some equality deletes."""
        found = BitMap()
        by_columns: dict[tuple[int, ...], list[DataFile]] = {}
        for entry in entries:
            by_columns.setdefault(_columns(entry.data_file), []).append(entry.data_file)
        for columns, files in by_columns.items():
            rows = self._load(task.file, columns)
            deleted = pa.concat_tables([self._kept(file, columns) for file in files])
            found |= matching_rows(rows, deleted)
        return found

    def _kept(self, file: DataFile, columns: tuple[int, ...]) -> pa.Table:
        if file.file_path not in self._read:
            self._read[file.file_path] = self._load(file, columns)
        return self._read[file.file_path]

    def _load(self, file: DataFile, columns: tuple[int, ...]) -> pa.Table:
        """All rows of a file in order, with columns by field id."""
        library = load_library("pyiceberg.table", "iceberg")
        reading = load_library("pyiceberg.io.pyarrow", "iceberg")
        everything = load_library("pyiceberg.expressions", "iceberg").AlwaysTrue()
        schema = load_library("pyiceberg.schema", "iceberg").Schema(
            *(self._column(number) for number in columns)
        )
        scan = reading.ArrowScan(self._table.metadata, self._table.io, schema, everything)
        found: pa.Table = scan.to_table([library.FileScanTask(file)])
        return found

    def _column(self, number: int) -> Any:
        """A column of any schema of the table, because deletes outlive the columns they compare."""
        current = self._table.schema()
        others = sorted(self._table.schemas().items(), reverse=True)
        for schema in (current, *(schema for _, schema in others)):
            for column in schema.fields:
                if column.field_id == number:
                    # a file may lack the column, whatever the current schema says
                    return column.model_copy(update={"required": False})
        raise error("COMPANION_EQUALITY_DELETES", path=self._table.location())


def _columns(file: DataFile) -> tuple[int, ...]:
    return tuple(sorted(file.equality_ids or ()))


def matching_rows(rows: pa.Table, deleted: pa.Table) -> BitMap:
    """The rows whose values are, in every column, those of a deleted row; null equals null."""
    keys = pa.array([0] * (rows.num_rows + deleted.num_rows), pa.int64())
    for name in rows.column_names:
        both = pa.chunked_array(
            [*rows[name].chunks, *deleted[name].cast(rows[name].type).chunks], rows[name].type
        )
        codes = _codes(both)
        count = (pc.max(codes).as_py() or 0) + 1
        # the keys so far are small numbers, so that their products are small, too
        keys = _codes(pc.add(pc.multiply(keys, count), codes))
    mine, theirs = keys.slice(0, rows.num_rows), keys.slice(rows.num_rows)
    found = pc.indices_nonzero(pc.is_in(mine, value_set=theirs))
    return BitMap(found.to_numpy())


def _codes(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A number for each distinct value; null is a value."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    encoded = values.dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.cast(pa.int64())
