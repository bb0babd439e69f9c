"""Merge-on-read deletes in Iceberg tables, which `pyiceberg` reads but does not write."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record

_PATH, _POSITION = 2147483546, 2147483545
_numbers: Iterator[int] = itertools.count()


class _DeleteManifest(ManifestWriterV2):
    """A manifest of delete files."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _AddDeletes(_FastAppendFiles):
    """A snapshot that only adds delete files."""

    deletes: Sequence[DataFile] = ()

    def _manifests(self) -> list[ManifestFile]:
        metadata = self._transaction.table_metadata
        found = self._existing_manifests()
        for spec in {file.spec_id for file in self.deletes}:
            name = f"{metadata.location}/metadata/deletes-{next(_numbers)}-{self._snapshot_id}.avro"
            writer = _DeleteManifest(
                metadata.specs()[spec], metadata.schema(), self._io.new_output(name),
                self._snapshot_id, self._compression,
            )  # fmt: skip
            with writer:
                for file in self.deletes:
                    if file.spec_id == spec:
                        writer.add_entry(_entry(file, self._snapshot_id))
            found.append(writer.to_manifest_file())
        return found


def _entry(file: DataFile, snapshot: int) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file
    )


def _commit(table: Table, files: Sequence[DataFile]) -> None:
    with table.transaction() as transaction:
        change = _AddDeletes(Operation.DELETE, transaction, table.io)
        change.deletes = files
        change.commit()


def _write(table: Table, rows: pa.Table, **facts: Any) -> DataFile:
    path = (
        f"{table.location()}/data/deletes-{next(_numbers)}-{table.metadata.last_updated_ms}.parquet"
    )
    with table.io.new_output(path).create() as output:
        pq.write_table(rows, output)
    file = DataFile.from_args(
        file_path=path,
        file_format=FileFormat.PARQUET,
        record_count=rows.num_rows,
        file_size_in_bytes=len(table.io.new_input(path)),
        column_sizes={},
        value_counts={},
        null_value_counts={},
        nan_value_counts={},
        lower_bounds={},
        upper_bounds={},
        **facts,
    )
    file.spec_id = facts.get("spec_id", table.spec().spec_id)
    return file


def _with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def delete_positions(table: Table, task: Any, positions: Sequence[int]) -> None:
    """Delete rows of a data file by position."""
    path = task.file.file_path
    schema = pa.schema(
        [_with_id("file_path", pa.string(), _PATH), _with_id("pos", pa.int64(), _POSITION)]
    )
    rows = pa.table([[path] * len(positions), list(positions)], schema=schema)
    file = _write(
        table, rows, content=DataFileContent.POSITION_DELETES, partition=task.file.partition
    )
    file.spec_id = task.file.spec_id
    _commit(table, [file])


def delete_values(table: Table, values: pa.Table, task: Any | None = None) -> None:
    """Delete the rows with these values; `task` is a file of their partition."""
    schema = table.schema()
    fields = [
        _with_id(name, values.schema.field(name).type, schema.find_field(name).field_id)
        for name in values.column_names
    ]
    file = _write(
        table,
        values.cast(pa.schema(fields)),
        content=DataFileContent.EQUALITY_DELETES,
        partition=Record() if task is None else task.file.partition,
        equality_ids=[schema.find_field(name).field_id for name in values.column_names],
    )
    if task is not None:
        file.spec_id = task.file.spec_id
    _commit(table, [file])
