"""Rows of splits by position and by key, to decide which row of a key stays."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from indextables.errors import error
from indextables.index.hash_files import load_hashes
from indextables.index.key_hash import key_texts
from indextables.model import kernels as pc
from indextables.model.strings import strings_of, to_json
from indextables.plan.contest import ARRIVAL, DELETES, ID
from indextables.plan.tree import ALL
from indextables.read.spec import DOC, SPLIT, Source, row_id, sources_of
from indextables.read.splits import SplitReader
from indextables.runtime.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from indextables.log import Log
    from indextables.plan.keys import KeySpec
    from indextables.plan.tree import Tree
    from indextables.save.splits import Place, WriteSpec, WrittenSplit

_GONE = ("-D", "-U")
_KINDS = ("+I", "+U", *_GONE)
# from this many keys per row of a split, reading the column is cheaper than key lookups
_SCAN_SHARE = 4


@dataclass
class KeyRows:
    """The rows of new splits and of the table, as far as their keys are needed.

    Rows are read once: `_found` is keyed by split and vector, so it stays valid while these do.
    """

    log: Log
    write: WriteSpec
    splits: Sequence[WrittenSplit]
    key: KeySpec
    _noted: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    _deletes: dict[int, BitMap] = field(default_factory=dict)
    _found: dict[tuple[str, Any], pa.Table] = field(default_factory=dict)
    _sources: dict[str, tuple[Source, int]] = field(default_factory=dict)
    _buckets: dict[str, int] = field(default_factory=dict)

    @cached_property
    def own(self) -> dict[str, int]:
        """The new splits by their path."""
        return {split.path: at for at, split in enumerate(self.splits)}

    def hashes(self, at: int) -> NDArray[np.int32]:
        """The hashes of the rows of a new split, in order."""
        hashes: NDArray[np.int32] = self._notes(at)[0]
        return hashes

    def _notes(self, at: int) -> NDArray[np.int32]:
        """What the task recorded per row: its hash, and its order of arrival if that matters."""
        if at not in self._noted:
            split = self.splits[at]
            assert split.hashes is not None
            lines = 1 if self.key.in_partition else 2
            notes = load_hashes(self.log.store, split.hashes, lines * split.num_records)
            self._noted[at] = notes.reshape(lines, -1)
        return self._noted[at]

    def _arrivals(self, at: int, docs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The order in which the rows of a new split were written."""
        if self.key.in_partition:
            # a key is in one split after another, each in order
            return (at << 32) + docs
        within = np.asarray(self._notes(at)[1][docs], dtype=np.int64)
        return (self.splits[at].task << 32) + within

    def deletes(self, at: int) -> BitMap:
        """The rows of a new split that only delete their key."""
        kind = self.key.rowkind
        if kind is None:
            return BitMap()
        if at not in self._deletes:
            self._check_kinds(at, kind)
            gone = self._docs(at, {"type": "set", "field": kind, "values": [*_GONE]})
            self._deletes[at] = BitMap(gone.astype(np.uint32))
        return self._deletes[at]

    def _check_kinds(self, at: int, kind: str) -> None:
        known: Tree = {"type": "set", "field": kind, "values": [*_KINDS]}
        missing: Tree = {"type": "not", "arg": {"type": "exists", "field": kind}}
        other: Tree = {"type": "not", "arg": {"type": "or", "args": [known, missing]}}
        docs = self._docs(at, other)
        if len(docs):
            rows = self._rows_at(self._output((kind,)), self.source(at), BitMap(docs[:1]))
            raise error("ROWKIND_INVALID", column=kind, value=rows.column(kind)[0].as_py())

    def _docs(self, at: int, query: Tree) -> NDArray[np.int64]:
        output = pa.schema([self._row_id.field(DOC)])
        docs = self._reader.search(self.source(at)[0], output, query).column(DOC)
        return np.asarray(docs.to_numpy(), dtype=np.int64)

    def new_rows(self, at: int, docs: BitMap) -> pa.Table:
        """Rows of a new split as candidates for their keys."""
        output = self._output(())
        if not docs:
            return self._described(output.empty_table(), at)
        return self._described(self._rows_at(output, self.source(at), docs), at)

    def old_rows(
        self, files: pa.Table, bucket: int, new: pa.Table, deleted: Mapping[str, BitMap]
    ) -> list[pa.Table]:
        """Live rows in these splits of a bucket whose key is among these new rows."""
        keys, ids = new.select(list(self.key.inside)), new.column(ID).combine_chunks()

        def look(counted: tuple[Source, int]) -> pa.Table:
            source, num_rows = counted
            known = (source.path, source.vector)
            if known not in self._found:
                query = query_of_keys(keys, num_rows)
                found = self._reader.search(source, self._output(()), query)
                exact = pc.is_in(self._ids(found), value_set=ids)
                self._found[known] = self._described(found.filter(exact))
            hidden = deleted.get(source.path)
            return self._found[known] if hidden is None else _without(self._found[known], hidden)

        sources = sources_of(files, [0] * files.num_rows)
        counts = [count or 0 for count in files.column("numRecords").to_pylist()]
        pairs = list(zip(sources, counts, strict=True))
        self._sources |= {source.path: (source, count) for source, count in pairs}
        self._buckets |= {source.path: bucket for source in sources}
        return side_by_side(look, pairs, os.cpu_count() or 1)

    def full_rows(self, places: pa.Table) -> pa.Table:
        """All columns of rows given by split and position, in this order."""
        output = self._output(self.write.schema.names)
        paths = places.column(SPLIT).combine_chunks().dictionary_encode()
        codes, docs = paths.indices.to_numpy(), places.column(DOC).to_numpy()
        tables, base = [], 0
        at = np.zeros(len(docs), dtype=np.int64)
        for code, path in enumerate(paths.dictionary.to_pylist()):
            mine = codes == code
            at_own = self.own.get(path)
            source = self._sources[path] if at_own is None else self.source(at_own)
            rows = self._rows_at(output, source, BitMap(docs[mine].astype(np.uint32)))
            at[mine] = base + np.searchsorted(rows.column(DOC).to_numpy(), docs[mine])
            tables.append(rows)
            base += rows.num_rows
        return pa.concat_tables(tables).take(pa.array(at)).select(self.write.schema.names)

    def place(self, path: str) -> Place:
        """The partition and bucket of a split of the table that was read."""
        source, _ = self._sources[path]
        return dict(source.partition_values), self._buckets[path]

    def source(self, at: int) -> tuple[Source, int]:
        """A new split, as it is read, and its rows."""
        split = self.splits[at]
        footer = (split.footer_start, split.footer_end)
        return Source(split.path, footer, split.partition_values, None, 0), split.num_records

    def _rows_at(self, output: pa.Schema, place: tuple[Source, int], docs: BitMap) -> pa.Table:
        source, num_rows = place
        return self._reader.rows_at(source, num_rows, docs, output)

    def _ids(self, rows: pa.Table) -> pa.Array:
        return key_texts([rows.column(name) for name in self.key.columns])

    def _described(self, rows: pa.Table, at: int | None = None) -> pa.Table:
        """Candidate rows for their keys: those of a new split, or of the table."""
        docs = rows.column(DOC).to_numpy()
        arrivals, gone = np.full(len(docs), -1), np.zeros(len(docs), dtype=bool)
        if at is not None:
            arrivals = self._arrivals(at, docs)
            gone = np.isin(docs, np.asarray(self.deletes(at).to_array(), dtype=np.int64))
        return (
            rows.append_column(ID, self._ids(rows))
            .append_column(ARRIVAL, pa.array(arrivals, pa.int64()))
            .append_column(DELETES, pa.array(gone, pa.bool_()))
        )

    @cached_property
    def _reader(self) -> SplitReader:
        write = self.write
        return SplitReader(
            self.log.store.native(), write.settings, write.schema_json, write.partition_columns
        )

    def _output(self, more: Sequence[str]) -> pa.Schema:
        """The columns that are read: key, sequence, more columns, and the position."""
        schema = self.write.schema.to_arrow_schema()
        names = dict.fromkeys((*self.key.columns, *self.key.sequence, *more))
        fields = [schema.field(name).with_nullable(True) for name in names]  # noqa: FBT003
        return pa.schema([*fields, *self._row_id])

    @property
    def _row_id(self) -> pa.Schema:
        return row_id(self.write.schema, "an upsert")


def query_of_keys(keys: pa.Table, num_rows: int) -> Tree:
    """A query that finds the rows with these values in the key columns, and few others."""
    if keys.num_rows * _SCAN_SHARE > num_rows:
        return ALL
    args: list[Tree] = [
        {"type": "set", "field": name, "values": json_values(pc.unique(keys.column(name)))}
        for name in keys.column_names
    ]
    return args[0] if len(args) == 1 else {"type": "and", "args": args}


def json_values(column: pa.Array) -> list[Any]:
    """Values as queries of the engine encode them."""
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    if pa.types.is_string(kind):
        return [to_json(value) for value in strings_of(column) if value is not None]
    values: list[Any] = column.to_pylist()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [base64.b64encode(value).decode() for value in values]
    return values


def _without(rows: pa.Table, hidden: BitMap) -> pa.Table:
    docs = rows.column(DOC).to_numpy()
    gone = np.isin(docs, np.asarray(hidden.to_array(), dtype=np.int64))
    return rows.filter(pa.array(~gone))
