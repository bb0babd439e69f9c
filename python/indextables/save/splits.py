"""Write rows: batches to splits in a task, splits to one commit on the driver."""

from __future__ import annotations

import base64
import json
import logging
import time
import uuid
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import pyarrow as pa
from pyroaring import BitMap

from indextables.config import indexing
from indextables.config import write as keys
from indextables.engine.writer import SplitInfo, SplitWriter
from indextables.errors import CommitUnknownError, IndexTablesError, StorageError
from indextables.expr.literals import render_literal
from indextables.index.hash_files import forget_hashes
from indextables.log.actions import AddFile
from indextables.log.partitions import split_path
from indextables.log.protocol import LEAN_SPLITS
from indextables.model import kernels as pc
from indextables.model.strings import from_bytes
from indextables.model.types import Struct, parse_schema
from indextables.runtime.handles import native_store
from indextables.save.statistics import render_extremes, stats_length
from indextables.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from indextables import _native
    from indextables.config.settings import Settings
    from indextables.log.actions import IndexFile
    from indextables.plan.keys import KeySpec
    from indextables.storage import Store


# the partition values and bucket of rows
Place: TypeAlias = tuple[dict[str, str], int | None]

_log = logging.getLogger("indextables.write")


def features_of(settings: Settings) -> frozenset[str]:
    """The features that readers of splits with these settings need."""
    return frozenset({LEAN_SPLITS} if settings.get(indexing.LAYOUT) == "lean" else ())


@dataclass(frozen=True)
class WriteSpec:
    """All that a task needs to turn batches into splits; sent to the executors."""

    url: str
    # holds credentials of the store: never print it
    store_options: str = field(repr=False)
    schema_json: str
    partition_columns: tuple[str, ...]
    fields: tuple[Mapping[str, Any], ...]
    settings: Settings
    # for a table with a primary key: the key, and its hash indexes
    key: KeySpec | None = None
    indexes: tuple[IndexFile, ...] = ()
    # rows that fill a split, estimated from the rows of the table
    split_rows: int | None = None

    @cached_property
    def schema(self) -> Struct:
        """The table's columns."""
        return parse_schema(self.schema_json)

    @cached_property
    def split_schema(self) -> pa.Schema:
        """The columns inside a split: all but the partition columns."""
        inside = [f for f in self.schema.fields if f.name not in self.partition_columns]
        return pa.schema([f.to_arrow().with_nullable(True) for f in inside])  # noqa: FBT003

    @property
    def engine_options(self) -> dict[str, Any]:
        """The engine's options for every split of this write."""
        chosen: dict[str, Any] = {
            "layout": self.settings.get(indexing.LAYOUT),
            "heap_bytes": self.settings.get(keys.HEAP_BYTES),
            "stats_length": stats_length(self.settings),
        }
        temp = self.settings.get(keys.TEMP_DIRECTORY)
        return chosen | ({"temp_dir": temp} if temp else {})


@dataclass(frozen=True)
class WrittenSplit:
    """A complete split, as a task reports it."""

    path: str
    partition_values: dict[str, str]
    size: int
    footer_start: int
    footer_end: int
    num_records: int
    uncompressed_size: int
    min_values: dict[str, str]
    max_values: dict[str, str]
    doc_mapping: str
    modified_ms: int
    # rows that are new versions of old ones, as a base64 bitmap
    updated: str | None = None
    # with a primary key: the bucket (below 0: of an assigner, chosen at the commit), the file with
    # the hashes of its rows in order, and the task that wrote it
    bucket: int | None = None
    hashes: str | None = None
    task: int = 0

    @property
    def partition(self) -> tuple[tuple[str, str], ...]:
        """The partition values in a canonical order."""
        return tuple(sorted(self.partition_values.items()))

    def to_json(self) -> dict[str, Any]:
        """The JSON value for the driver."""
        return asdict(self)

    def to_add(self) -> AddFile:
        """The action that makes it part of the table."""
        return AddFile(
            path=self.path,
            partition_values=self.partition_values,
            size=self.size,
            modification_time=self.modified_ms,
            min_values=self.min_values or None,
            max_values=self.max_values or None,
            num_records=self.num_records,
            footer_start_offset=self.footer_start,
            footer_end_offset=self.footer_end,
            has_footer_offsets=True,
            delete_opstamp=0,
            num_merge_ops=0,
            doc_mapping_json=self.doc_mapping,
            uncompressed_size_bytes=self.uncompressed_size,
        )


def sorted_by_partition(
    spec: WriteSpec, batches: Iterable[pa.RecordBatch]
) -> Iterable[pa.RecordBatch]:
    """The rows of a task sorted by partition, for callers without Spark.

    They are held in memory; without partitions they pass through.
    """
    if not spec.partition_columns:
        return batches
    held = list(batches)
    if not held:
        return held
    table = pa.Table.from_batches(held)
    ordered = table.sort_by([(name, "ascending") for name in spec.partition_columns])
    batches_in_order: list[pa.RecordBatch] = ordered.to_batches()
    return batches_in_order


def write_batches(spec: WriteSpec, batches: Iterable[pa.RecordBatch]) -> list[WrittenSplit]:
    """Write the rows of a task, which are grouped by partition."""
    with open_sink(spec) as sink:
        for batch in batches:
            sink.add_rows(batch)
    return sink.written


def discard_splits(store: Store, splits: Sequence[WrittenSplit]) -> None:
    """Delete the splits of a failed write; PURGE finds what remains."""
    paths = [path for s in splits for path in (s.path, s.hashes) if path is not None]
    try:
        store.delete(paths)
    except IndexTablesError:
        count = "1 split" if len(splits) == 1 else f"{len(splits)} splits"
        _log.warning("%s of a failed write to `%s` left for PURGE to delete", count, store.url)


def discard_staged(store: Store, splits: Iterable[WrittenSplit]) -> None:
    """Delete the hash files that tasks wrote for the commit; PURGE finds what remains."""
    staged = [split.hashes for split in splits if split.hashes is not None]
    forget_hashes(store, staged)
    try:
        store.delete(staged)
    except StorageError as failure:
        _log.warning("could not delete %d files of hashes: %s", len(staged), failure)


@contextmanager
def discarded_if_refused(store: Store, splits: Sequence[WrittenSplit]) -> Iterator[None]:
    """Delete the splits of a rejected commit: no version can reference them, now or later.

    After any other failure they stay for PURGE: a version that was sent may still arrive, and a
    request that failed may have been sent twice.
    """
    try:
        yield
    except (CommitUnknownError, StorageError):
        raise
    except IndexTablesError:
        discard_splits(store, splits)
        raise


def open_sink(spec: WriteSpec) -> SplitSink:
    """Where the rows of a task go."""
    if spec.key is None:
        return SplitSink(spec)
    from indextables.rows.keyed_write import KeyedSink

    return KeyedSink(spec)


@dataclass
class SplitSink:
    """The current split, and the complete ones. Leaving the block completes the last."""

    spec: WriteSpec
    written: list[WrittenSplit] = field(default_factory=list)
    _writer: SplitWriter | None = None
    _place: Place = field(default_factory=lambda: ({}, None))
    _updated: BitMap = field(default_factory=BitMap)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._finish()
        else:
            self._discard()

    def _discard(self) -> None:
        """Clean up: the driver gets no report of a failed task."""
        if self._writer is not None:
            self._writer.abort()
        if self.written:
            discard_splits(open_store(self.spec.url, self.spec.settings), self.written)

    def add_rows(self, batch: pa.RecordBatch, updated: pa.BooleanArray | None = None) -> None:
        """Add rows, grouped by partition.

        `updated` marks new versions of old rows.
        """
        start = 0
        for values, run in runs(self.spec, batch):
            marks = None if updated is None else updated.slice(start, run.num_rows)
            self.add_to((values, None), run, marks)
            start += run.num_rows

    def add_to(
        self, place: Place, batch: pa.RecordBatch, updated: pa.BooleanArray | None = None
    ) -> None:
        """Add rows of one partition, and one bucket if the table has buckets."""
        writer = self._writer
        if writer is not None and (place != self._place or not writer.accepts(batch)):
            self._finish()
            writer = None
        if writer is None:
            writer = self._begin()
            self._writer, self._place = writer, place
        if updated is not None:
            rows = pc.add(pc.indices_nonzero(updated).cast(pa.uint32()), writer.rows)
            self._updated |= BitMap(rows.cast(pa.uint32()).to_numpy(zero_copy_only=False))
        writer.write(batch)
        self._wrote(batch)
        if self._is_full(writer):
            self._finish()

    def _is_full(self, writer: SplitWriter) -> bool:
        most = self.spec.split_rows
        if most is not None and writer.rows >= most:
            return True
        return writer.estimated_bytes >= self.spec.settings.get(keys.MAX_SPLIT_BYTES)

    @property
    def _store(self) -> _native.Store:
        return native_store(self.spec.url, self.spec.store_options)

    def _begin(self) -> SplitWriter:
        """Start a split."""
        return SplitWriter(self.spec.split_schema, self.spec.fields, self.spec.engine_options)

    def _put(self, writer: SplitWriter, path: str) -> SplitInfo:
        """Write a full split to the store."""
        return writer.finish(self._store, path)

    def _wrote(self, batch: pa.RecordBatch) -> None:
        """Called after rows were added to the current split."""

    def _finish(self) -> None:
        if self._writer is None:
            return
        spec, (values, _) = self.spec, self._place
        path = split_path(spec.partition_columns, values, str(uuid.uuid4()))
        info = self._put(self._writer, path)
        self._writer = None
        done = _describe(spec, values, path, info)
        if self._updated:
            text = base64.b64encode(self._updated.serialize()).decode()
            done, self._updated = replace(done, updated=text), BitMap()
        self.written.append(done)


def _describe(spec: WriteSpec, values: dict[str, str], path: str, info: SplitInfo) -> WrittenSplit:
    low, high = render_extremes(info.columns, spec.schema, spec.settings)
    return WrittenSplit(
        path=path,
        partition_values=values,
        size=info.size,
        footer_start=info.footer_start,
        footer_end=info.footer_end,
        num_records=info.num_records,
        uncompressed_size=info.uncompressed_size,
        min_values=low,
        max_values=high,
        doc_mapping=json.dumps(info.doc_mapping, separators=(",", ":"), ensure_ascii=False),
        modified_ms=int(time.time() * 1000),
    )


def runs(spec: WriteSpec, batch: pa.RecordBatch) -> Iterator[tuple[dict[str, str], pa.RecordBatch]]:
    """Runs of rows with the same partition values, without the partition columns."""
    if not batch.num_rows:
        return
    inside = conform(batch, spec.split_schema)
    if not spec.partition_columns:
        yield {}, inside
        return
    keys_of = {
        name: batch.column(batch.schema.get_field_index(name)) for name in spec.partition_columns
    }
    starts = _starts(list(keys_of.values()), batch.num_rows)
    for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
        values = {
            name: text
            for name, column in keys_of.items()
            if (text := _partition_text(spec.schema, name, column[start])) is not None
        }
        yield values, inside.slice(start, end - start)


def _starts(columns: list[pa.Array], rows: int) -> list[int]:
    """Where a row differs from the previous one in any of these columns."""
    changed = pa.repeat(pa.scalar(False), rows - 1)  # noqa: FBT003
    for column in columns:
        # codes compare nulls with nulls and NaN with NaN
        codes = column.dictionary_encode("encode").indices
        changed = pc.or_(changed, pc.not_equal(codes[1:], codes[:-1]))
    return [0, *(pc.add(pc.indices_nonzero(changed), 1).to_pylist())]


def _partition_text(schema: Struct, name: str, value: pa.Scalar) -> str | None:
    found = schema.get(name)
    assert found is not None, name
    if pa.types.is_date32(value.type):
        value = value.cast(pa.int32())
    elif pa.types.is_timestamp(value.type) or pa.types.is_duration(value.type):
        value = value.cast(pa.int64())
    elif pa.types.is_string(value.type):
        value = value.cast(pa.binary())
        text = None if not value.is_valid else from_bytes(value.as_py())
        return render_literal(text, found.type)
    return render_literal(value.as_py(), found.type)


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a schema, in its order and types."""
    columns = [batch.column(batch.schema.get_field_index(f.name)) for f in schema]
    cast = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)
