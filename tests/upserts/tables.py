"""Tables with a primary key, written without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from indextables.config.settings import resolve
from indextables.index.hash_files import hashes_of
from indextables.index.key_hash import hash_keys
from indextables.log import Log, Snapshot
from indextables.log.transaction import Operation
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.key_splits import buckets_of
from indextables.read.request import ScanRequest
from indextables.read.scan import plan_scan, run_scan
from indextables.read.spec import DOC, SPLIT
from indextables.read.table import OpenTable
from indextables.rows.commit_rows import RowChange, commit_rows
from indextables.save.commit import Save, commit_save
from indextables.save.spec import spec_of_write
from indextables.save.splits import WriteSpec, write_batches

SCHEMA = Struct(
    (
        Field("p", Atomic("integer")),
        Field("id", Atomic("integer")),
        Field("v", Atomic("string")),
        Field("w", Atomic("string")),
        Field("seq", Atomic("integer")),
        Field("op", Atomic("string")),
    )
)
ARROW = SCHEMA.to_arrow_schema()
Row = tuple[Any, ...]


@dataclass
class KeyTable:
    """`options` are the table's properties, `partition_columns` none or `p`."""

    log: Log
    options: dict[str, str]
    partition_columns: tuple[str, ...] = ()

    def snapshot(self) -> Snapshot | None:
        return self.log.snapshot() if self.log.exists() else None

    def spec(self, table: Snapshot | None, overwrite: str = "none") -> WriteSpec:
        configuration = {} if table is None else table.metadata.configuration
        settings = resolve(self.options, {}, configuration)
        columns = self.partition_columns
        return spec_of_write(self.log, table, SCHEMA, columns, settings, overwrite=overwrite)

    def write(self, tasks: Sequence[Sequence[Row]], spec: WriteSpec) -> list[Any]:
        """Write rows as tasks do; each task writes its rows in order."""
        return [
            replace(split, task=task)
            for task, rows in enumerate(tasks)
            for split in write_batches(spec, batches(rows))
        ]

    def upsert(self, *tasks: Sequence[Row], overwrite: str = "none") -> int:
        """Save rows of several tasks."""
        table = self.snapshot()
        spec = self.spec(table, overwrite)
        save = Save(
            overwrite,
            SCHEMA,
            self.partition_columns,
            spec.fields,
            self.write(tasks, spec),
            spec.settings,
            {},
            keyed=spec if spec.key is not None else None,
        )
        return commit_save(self.log, save, table).version

    def change(
        self, operation: Operation, table: Snapshot, places: pa.Table, rows: Sequence[Row] = ()
    ) -> int:
        """Remove rows of a version and add others."""
        spec = self.spec(table)
        splits = self.write([rows], spec) if rows else []
        change = RowChange(operation, positions(places), splits, spec)
        return commit_rows(self.log, change, table, spec.settings).version

    def read(self, table: Snapshot | None = None, more: Iterable[str] = ()) -> pa.Table:
        """All live rows of a version, in any order."""
        table = table or self.log.snapshot()
        extra = {SPLIT: pa.string(), DOC: pa.int64()}
        output = pa.schema([*ARROW, *(pa.field(name, extra[name]) for name in more)])
        opened = OpenTable(self.log, table, resolve(self.options))
        return run_scan(plan_scan(opened, ScanRequest(output, here=True)))

    def rows(self, table: Snapshot | None = None) -> list[Row]:
        return sorted(values(self.read(table)), key=str)

    def check_index(self, table: Snapshot) -> None:
        """Check that the bucket of each split knows its live keys."""
        files = table.files()
        bucket_of = dict(zip(files["path"].to_pylist(), buckets_of(files).tolist(), strict=True))
        known = hashes_of(self.log.store, table.hash_indexes)
        found = self.read(table, [SPLIT])
        inside = [name for name in self.key() if name not in self.partition_columns]
        hashes = hash_keys([found[name] for name in inside]) if found.num_rows else []
        for path, p, key in zip(
            found[SPLIT].to_pylist(), found["p"].to_pylist(), hashes, strict=True
        ):
            partition = (("p", str(p)),) if self.partition_columns else ()
            assert key in known[partition][bucket_of[path]], "a live key is unknown to its bucket"

    def key(self) -> list[str]:
        return self.options["primary-key"].split(",")


def positions(places: pa.Table) -> dict[str, BitMap]:
    found: dict[str, BitMap] = {}
    for path, doc in zip(places[SPLIT].to_pylist(), places[DOC].to_pylist(), strict=True):
        found.setdefault(path, BitMap()).add(doc)
    return found


def batches(rows: Sequence[Row]) -> list[pa.RecordBatch]:
    columns = [
        pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), ARROW, strict=True)
    ]
    ordered = pa.Table.from_arrays(columns, schema=ARROW)
    return ordered.to_batches(max_chunksize=7)


def values(table: pa.Table) -> list[Row]:
    return [tuple(row[name] for name in ARROW.names) for row in table.to_pylist()]
