"""Iceberg tables: files and deletes of a snapshot, planned by the `pyiceberg` library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyroaring import BitMap

from indextables.errors import IndexTablesError, error
from indextables.model.types import Struct
from indextables.sources.iceberg_deletes import PlannedFiles, deleted_rows, plan_snapshot
from indextables.sources.iceberg_schema import iceberg_addresses, spark_schema
from indextables.sources.library import load_library, reading
from indextables.sources.table import FILES, SourceSnapshot, relative_path
from indextables.storage import Store

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table

# the version of a table without any snapshot
EMPTY = "-1"
_METADATA = re.compile(r"(?:v(\d+)|(\d+)-[^/]*)(?:\.gz)?\.metadata\.json(?:\.gz)?")
_HINT = "metadata/version-hint.text"


@dataclass(frozen=True)
class IcebergSource:
    """An Iceberg table: `name` in a catalog, or, without a catalog, the folder of `store`.

    `properties` are pyiceberg's own, of the catalog and of the files.
    """

    name: str
    catalog: str | None = None
    store: Store | None = None
    # contains credentials: never print it
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def location(self) -> str:
        """The folder of the table."""
        return self._open().location() if self.store is None else self.store.url

    def look(self) -> str:
        """The id of the table and the location of its newest metadata; every change writes a file.

        Without a catalog, the files of a table that was dropped and created again have the same
        names as before.
        """
        table = self._open()
        facts = table.metadata
        return f"{facts.table_uuid} {facts.last_updated_ms} {table.metadata_location}"

    def at(self, mark: str) -> SourceSnapshot:
        """The current snapshot of a metadata file."""
        library = load_library("pyiceberg.table", "iceberg")
        with reading("Iceberg", self.name):
            place = mark.split(" ", 2)[2]
            table = library.StaticTable.from_metadata(place, dict(self.properties))
            return _describe(table, None)

    def stamp(self, version: str) -> str:
        """Nothing: snapshot ids are random; a table without a snapshot has no id yet."""
        return self.look() if version == EMPTY else ""

    def snapshot(self, version: str | None = None) -> SourceSnapshot:
        """A snapshot of the table, by default the current one."""
        table = self._open()
        with reading("Iceberg", self.name):
            return _describe(table, version)

    def _open(self) -> Table:
        module = "pyiceberg.catalog" if self.catalog is not None else "pyiceberg.table"
        library = load_library(module, "iceberg")
        with reading("Iceberg", self.name):
            if self.catalog is None:
                given = dict(self.properties)
                static: Table = library.StaticTable.from_metadata(self._newest_metadata(), given)
                return static
            catalog = library.load_catalog(self.catalog, **self.properties)
            table: Table = catalog.load_table(self.name)
            return table

    def _newest_metadata(self) -> str:
        """The metadata file of a table without a catalog: by Hadoop's hint, or the newest one.

        The hint is written after the file it names and may be stale, so later files are checked.
        """
        assert self.store is not None
        found: dict[int, list[str]] = {}
        for name in self.store.children("metadata"):
            if match := _METADATA.fullmatch(name):
                found.setdefault(int(match[1] or match[2]), []).append(name)
        if not found:
            raise self._unclear("there is no metadata file in `metadata/`")
        hint = self.store.find(_HINT)
        newest = max(found)
        if hint is not None and hint.strip().isdigit() and int(hint) in found:
            newest = int(hint)
            while newest + 1 in found:
                newest += 1
        if len(found[newest]) > 1:
            named = " and ".join(f"`{name}`" for name in sorted(found[newest]))
            raise self._unclear(f"{named} may both be its newest state; name it by its catalog")
        return f"{self.store.url}/metadata/{found[newest][0]}"

    def _unclear(self, detail: str) -> IndexTablesError:
        assert self.store is not None
        return error("COMPANION_SOURCE", format="Iceberg", path=self.store.url, detail=detail)


def _describe(table: Table, version: str | None) -> SourceSnapshot:
    snapshot = _snapshot_id(table, version)
    metadata = table.metadata
    schema = table.schema()
    planned = PlannedFiles()
    if snapshot is not None:
        scan = table.scan(snapshot_id=snapshot) if version is not None else table.scan()
        schema = scan.projection()
        planned = plan_snapshot(table, snapshot)
    tasks = planned.tasks
    location = table.location()
    _check_parquet(tasks, location)
    columns = spark_schema(schema)
    partitions = _partitions(table, schema, columns, tasks)
    files = pa.Table.from_arrays(
        [
            pa.array([relative_path(t.file.file_path, location) for t in tasks], pa.string()),
            pa.array([t.file.file_size_in_bytes for t in tasks], pa.int64()),
            pa.nulls(len(tasks), pa.string()),
            pa.array([t.file.record_count for t in tasks], pa.int64()),
        ],
        schema=FILES,
    )
    found = iceberg_addresses(schema, table.name_mapping())
    return SourceSnapshot(
        format="iceberg",
        location=location,
        version=EMPTY if snapshot is None else str(snapshot),
        schema=columns,
        files=files,
        columns=tuple(address for address in found if address.name not in partitions),
        partitions=partitions,
        id=str(metadata.table_uuid),
        load_deleted=partial(_deleted, table, planned),
    )


def _deleted(table: Table, planned: PlannedFiles) -> dict[str, BitMap]:
    with reading("Iceberg", table.location()):
        return deleted_rows(table, planned)


def _snapshot_id(table: Table, version: str | None) -> int | None:
    if version == EMPTY:
        return None
    if version is not None:
        if not version.isdigit() or table.snapshot_by_id(int(version)) is None:
            detail = "the table has no such snapshot, or it has expired"
            raise error("COMPANION_VERSION", version=version, detail=detail)
        return int(version)
    current = table.current_snapshot()
    return None if current is None else current.snapshot_id


def _check_parquet(tasks: Iterable[FileScanTask], location: str) -> None:
    for task in tasks:
        if task.file.file_format.value != "PARQUET":
            detail = f"`{task.file.file_path}` is not a Parquet file"
            raise error("COMPANION_SOURCE", format="Iceberg", path=location, detail=detail)


def _partitions(
    table: Table, schema: Any, columns: Struct, tasks: Iterable[FileScanTask]
) -> dict[str, pa.Array]:
    """The identity partition columns of every file; other transforms are not columns.

    A column that only some partition specs contain is read from the files, which have it, too.
    """
    specs = table.specs()
    identity = [
        {f.source_id for f in spec.fields if str(f.transform) == "identity"}
        for spec in specs.values()
    ]
    shared = set.intersection(*identity) if identity else set()
    found = {}
    for each in schema.fields:
        if each.field_id in shared:
            kind = columns.get(each.name)
            assert kind is not None
            values = [_value(task.file, specs[task.file.spec_id], each.field_id) for task in tasks]
            found[each.name] = pa.array(values, kind.type.to_arrow())
    return found


def _value(file: DataFile, spec: Any, source_id: int) -> Any:
    place = next(i for i, f in enumerate(spec.fields) if f.source_id == source_id)
    return file.partition[place]
