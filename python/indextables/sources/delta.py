"""Delta tables: files and deletion vectors of a version, listed by the `deltalake` library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyroaring import BitMap

from indextables.engine.source import Address
from indextables.errors import error
from indextables.model import kernels as pc
from indextables.model.types import Array, DataType, Field, Map, Struct, parse_schema
from indextables.sources.library import first_line, load_library, reading
from indextables.sources.table import FILES, SourceSnapshot, addresses, decode_path, stamp_of
from indextables.storage import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MAPPING = "delta.columnMapping."


_COMMIT = re.compile(r"_delta_log/(\d{20})\.json")


@dataclass(frozen=True)
class DeltaSource:
    """The Delta table in a folder; `options` open its object store in the library.

    A version number does not identify a version, because a table that is dropped and created again
    starts from zero. The stamp of its commit file does.
    """

    store: Store
    # contains credentials: never print it
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    # the newest known version: it and later versions are listed with one request
    _seen: list[int] = field(default_factory=list, repr=False, compare=False)

    @property
    def location(self) -> str:
        """The folder."""
        return self.store.native()[0]

    def look(self) -> str:
        """The newest version and the stamp of its commit."""
        commits = self._listed(self._seen[0]) if self._seen else {}
        if not commits or self._seen[0] not in commits:
            # the first check, or the table was recreated
            newest = self._open(None).version()
            commits = self._listed(newest)
            commits.setdefault(newest, "")
        self._seen[:] = [max(commits)]
        return f"{self._seen[0]}:{commits[self._seen[0]]}"

    def at(self, mark: str) -> SourceSnapshot:
        """The version of a mark."""
        return self.snapshot(mark.partition(":")[0])

    def stamp(self, version: str) -> str:
        """The stamp of a commit; of the newest one if it was cleaned up."""
        commit = self.store.head(_commit_path(_number(version)))
        return self.look() if commit is None else stamp_of(commit)

    def _listed(self, first: int) -> dict[int, str]:
        """The stamps of the commits from a version on: one request of an object store."""
        if self.store.has_folders:
            # a local folder is listed as a whole, and a log may have many thousand commits
            stamps: dict[int, str] = {}
            while (meta := self.store.head(_commit_path(first + len(stamps)))) is not None:
                stamps[first + len(stamps)] = stamp_of(meta)
            return stamps
        before = _commit_path(first).removesuffix(".json")
        found = (
            (_COMMIT.fullmatch(meta.path), meta) for meta in self.store.list("_delta_log", before)
        )
        return {int(name[1]): stamp_of(meta) for name, meta in found if name}

    def snapshot(self, version: str | None = None) -> SourceSnapshot:
        """A version of the table, by default the newest."""
        table = self._open(version)
        with reading("Delta", self.location):
            return self._describe(table)

    def _describe(self, table: DeltaTable) -> SourceSnapshot:
        schema, metadata = parse_schema(table.schema().to_json()), table.metadata()
        listed = pa.table(table.get_add_actions())
        paths = [decode_path(path, self.location) for path in listed["path"].to_pylist()]
        if len(set(paths)) < len(paths):
            detail = "its log has a file twice, with two deletion vectors"
            raise error("COMPANION_SOURCE", format="Delta", path=self.location, detail=detail)
        files = pa.Table.from_arrays(
            [
                pa.array(paths, pa.string()),
                listed["size_bytes"].cast(pa.int64()),
                pa.nulls(listed.num_rows, pa.string()),
                listed["num_records"].cast(pa.int64()),
            ],
            schema=FILES,
        )
        return SourceSnapshot(
            format="delta",
            location=self.location,
            version=str(table.version()),
            schema=_shown(schema),
            files=files,
            columns=tuple(
                found
                for found in addresses(schema, _address)
                if found.name not in metadata.partition_columns
            ),
            partitions=_partitions(listed, schema, metadata.partition_columns),
            id=str(metadata.id),
            load_deleted=partial(self._deleted, table),
        )

    def _deleted(self, table: DeltaTable) -> dict[str, BitMap]:
        with reading("Delta", self.location):
            masks = pa.table(table.deletion_vectors())
        found = {}
        base = table.table_uri
        for path, mask in zip(masks["filepath"], masks["selection_vector"], strict=True):
            # the library returns the whole URL, with its own encoding of the relative part
            inside = path.as_py().removeprefix(base)
            gone = pc.indices_nonzero(pc.invert(mask.values))
            found[decode_path(inside, self.location)] = BitMap(gone.to_numpy())
        return {path: rows for path, rows in found.items() if rows}

    def _open(self, version: str | None) -> DeltaTable:
        library = load_library("deltalake", "delta")
        options = dict(self.options) or None
        number = None if version is None else _number(version)
        with reading("Delta", self.location):
            table: DeltaTable = library.DeltaTable(self.location, storage_options=options)
            if number is None or number == table.version():
                return table
            newest = table.version()
            try:
                table.load_as_version(number)
            except Exception as failure:  # noqa: BLE001 (a library, see `reading`)
                detail = f"{first_line(failure)} (the newest is {newest})"
                raise error("COMPANION_VERSION", version=version, detail=detail) from None
            return table


def _commit_path(version: int) -> str:
    return f"_delta_log/{version:020}.json"


def _number(version: str) -> int:
    if not version.isdigit():
        detail = "versions of Delta tables are whole numbers"
        raise error("COMPANION_VERSION", version=version, detail=detail)
    return int(version)


def _address(given: Field) -> Address:
    name, number = (given.metadata.get(_MAPPING + key) for key in ("physicalName", "id"))
    return Address(given.name, () if name is None else (name,), number)


def _shown(schema: Struct) -> Struct:
    """The schema without Delta's own metadata, as Spark shows it."""

    def plain(kind: DataType) -> DataType:
        if isinstance(kind, Struct):
            return _shown(kind)
        if isinstance(kind, Array):
            return replace(kind, element=plain(kind.element))
        if isinstance(kind, Map):
            return replace(kind, key=plain(kind.key), value=plain(kind.value))
        return kind

    return Struct(
        tuple(
            replace(
                each,
                type=plain(each.type),
                metadata={k: v for k, v in each.metadata.items() if not k.startswith("delta.")},
            )
            for each in schema.fields
        )
    )


def _partitions(listed: pa.Table, schema: Struct, columns: list[str]) -> dict[str, pa.Array]:
    """The partition values of every file, in the types of the table."""
    if not columns:
        return {}
    values = listed["partition"].combine_chunks()
    found = {}
    for name in columns:
        kind = schema.get(name)
        assert kind is not None
        # a table without files has no members
        known = values.type.get_field_index(name) >= 0
        texts = pc.struct_field(values, name) if known else pa.nulls(len(values))
        found[name] = texts.cast(kind.type.to_arrow())
    return found
