"""The change feed: the rows that changed from version to version, derived from the log.

Splits that a version adds insert rows, splits it removes delete theirs, and a split it adds again
with another deletion vector deletes or restores the difference. A commit that only moves rows
(`dataChange` false, such as a merge of splits) changes nothing. spec: PROTOCOL change feed
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyroaring import BitMap

from indextables.config import read as keys
from indextables.errors import InvalidError, error
from indextables.index.vectors import load_deletions
from indextables.log.actions import UPDATED_ROWS, AddFile, DeletionVector, RemoveFile
from indextables.log.entries import from_adds, to_adds
from indextables.log.history import version_at
from indextables.log.operations import touched
from indextables.log.transaction import Operation
from indextables.plan.queries import split_queries
from indextables.plan.tasks import group_splits
from indextables.read.columns import plan_predicates
from indextables.read.rows import search_split, split_of, split_without
from indextables.read.same_columns import SameColumns
from indextables.read.spec import ReadSpec, Source, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from indextables.engine.split import Split
    from indextables.log import Log, Snapshot
    from indextables.log.replay import Commit
    from indextables.model.types import Struct
    from indextables.read.request import ScanRequest
    from indextables.read.table import OpenTable

CHANGE, VERSION, TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
COLUMNS = {
    CHANGE: pa.string(),
    VERSION: pa.int64(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
}
INSERT, DELETE = "insert", "delete"
_IMAGES = {INSERT: "update_postimage", DELETE: "update_preimage"}


@dataclass(frozen=True)
class ChangedRows:
    """Rows of one split that a version inserted or deleted: `only` these, or all but `without`."""

    entry: AddFile
    kind: str
    version: int
    timestamp_ms: int
    only: BitMap | None = None
    without: BitMap = field(default_factory=BitMap)

    @property
    def is_empty(self) -> bool:
        """Whether no rows remain."""
        if self.only is not None:
            return not self.only
        return self.entry.num_records is not None and len(self.without) >= self.entry.num_records


def whole_table(snapshot: Snapshot, log: Log) -> Iterator[ChangedRows]:
    """All rows of a version as inserts: where a stream begins."""
    for entry in to_adds(snapshot.files()):
        without = _bits(log, entry.deletion_vector)
        yield ChangedRows(entry, INSERT, snapshot.version, snapshot.timestamp_ms, without=without)


def changes_between(
    log: Log, first: int, last: int, check: Callable[[Commit], None] | None = None
) -> Iterator[ChangedRows]:
    """What the versions of a range changed, version by version, after a check of each."""
    before = _Before(log)
    for version in range(first, last + 1):
        commit = read_commit(log, version)
        if check is not None:
            check(commit)
        for rows in _changes_of(log, commit, before):
            yield from (each for each in _images(log, commit, rows) if not each.is_empty)
        before.passed(commit)


def changes_of(table: OpenTable, first: int, last: int) -> Iterator[ChangedRows]:
    """The same for rows that can be read with the columns of an open table."""
    same = SameColumns(table)
    same.check_version(last)
    return changes_between(table.log, first, last, same.check_commit)


def read_commit(log: Log, version: int) -> Commit:
    """A version file; CHANGES_GONE if retention has deleted it."""
    commit = log.reader.commit(version)
    if commit is None:
        versions = log.reader.listing().versions
        available = f"{versions[0]} to {versions[-1]}" if versions else "none"
        raise error("CHANGES_GONE", version=version, path=log.store.url, available=available)
    return commit


class _Before:
    """The table before a commit; loaded only if a commit removes something."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._snapshot: Snapshot | None = None
        self._pending: list[Commit] = []

    def passed(self, commit: Commit) -> None:
        if self._snapshot is not None:
            self._pending.append(commit)

    def entries(self, version: int, paths: list[str]) -> dict[str, AddFile]:
        if self._snapshot is None:
            self._snapshot = self._log.snapshot(version)
        elif self._pending:
            self._snapshot = self._log.reader.advance(self._snapshot, self._pending)
            self._pending = []
        return {entry.path: entry for entry in to_adds(touched(self._snapshot, paths))}


def _changes_of(log: Log, commit: Commit, before: _Before) -> Iterator[ChangedRows]:
    added = {a.path: a for a in commit.actions if isinstance(a, AddFile) and a.data_change}
    removed = [a.path for a in commit.actions if isinstance(a, RemoveFile) and a.data_change]
    when = (commit.version, commit.timestamp or log.reader.file_time(commit.version))
    known = before.entries(commit.version - 1, removed) if removed else {}
    for path, old in known.items():
        gone, again = _bits(log, old.deletion_vector), added.pop(path, None)
        if again is None:
            yield ChangedRows(old, DELETE, *when, without=gone)
            continue
        now = _bits(log, again.deletion_vector)
        yield ChangedRows(old, DELETE, *when, only=now - gone)
        yield ChangedRows(old, INSERT, *when, only=gone - now)
    for add in added.values():
        yield ChangedRows(add, INSERT, *when, without=_bits(log, add.deletion_vector))


def _images(log: Log, commit: Commit, rows: ChangedRows) -> Iterator[ChangedRows]:
    """Distinguish updated rows from inserted and deleted ones."""
    info = commit.info
    if info is not None and info.operation == Operation.UPDATE:
        yield replace(rows, kind=_IMAGES[rows.kind])
        return
    marked = (info.extra.get(UPDATED_ROWS) or {}).get(rows.entry.path) if info else None
    if marked is None:
        yield rows
        return
    updated = load_deletions(log.store, DeletionVector(**marked))
    image = replace(rows, kind=_IMAGES[rows.kind], without=BitMap())
    if rows.only is None:
        yield replace(image, only=updated - rows.without)
        yield replace(rows, without=rows.without | updated)
    else:
        yield replace(image, only=rows.only & updated)
        yield replace(rows, only=rows.only - updated)


def _bits(log: Log, vector: DeletionVector | None) -> BitMap:
    return BitMap() if vector is None else load_deletions(log.store, vector)


def first_version(log: Log, version: int | None, timestamp_ms: int | None) -> int:
    """Return the first version of a range given by a version or a timestamp."""
    if version is not None and timestamp_ms is not None:
        raise error("CHANGES_RANGE", detail="starts at a version or at a timestamp, not both")
    if timestamp_ms is None:
        if version is None:
            raise error("CHANGES_RANGE", detail="needs to know where it begins")
        return version
    try:
        # the first version that is not older than the timestamp follows the last older one
        return version_at(log.reader, timestamp_ms - 1) + 1
    except InvalidError:
        return log.reader.listing().versions[0]


def last_version(log: Log, version: int | None, timestamp_ms: int | None) -> int:
    """The end of a range; never beyond the newest version."""
    if version is not None and timestamp_ms is not None:
        raise error("CHANGES_RANGE", detail="ends at a version or at a time, not both")
    newest = log.snapshot().version
    if timestamp_ms is not None:
        return version_at(log.reader, timestamp_ms)
    return newest if version is None else min(version, newest)


@dataclass(frozen=True)
class ChangeSource:
    """Changed rows as the input of a task; bitmaps are base64."""

    source: Source
    kind: str
    version: int
    timestamp_ms: int
    only: str | None
    without: str | None

    @classmethod
    def of(cls, rows: ChangedRows, query: int) -> ChangeSource:
        """The rows of one split that match one of the scan's queries."""
        entry, begin, end = rows.entry, rows.entry.footer_start_offset, rows.entry.footer_end_offset
        source = Source(
            path=entry.path,
            footer=None if begin is None or end is None else (begin, end),
            partition_values=dict(entry.partition_values),
            vector=None,
            query=query,
        )
        only = None if rows.only is None else _text(rows.only)
        without = _text(rows.without) if rows.without else None
        return cls(source, rows.kind, rows.version, rows.timestamp_ms, only, without)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ChangeSource:
        """The input of a task."""
        return cls(**{**value, "source": Source.from_json(value["source"])})

    @property
    def given(self) -> dict[str, pa.Scalar]:
        """The values of the change feed columns, the same for every row."""
        values = (self.kind, self.version, self.timestamp_ms * 1000)
        return {
            name: pa.scalar(value, kind)
            for (name, kind), value in zip(COLUMNS.items(), values, strict=True)
        }


@dataclass(frozen=True)
class ChangeScan:
    """A read of changed rows as planned."""

    spec: ReadSpec
    sources: tuple[ChangeSource, ...]
    sizes: tuple[int, ...]

    def tasks(self, cores: int) -> list[tuple[ChangeSource, ...]]:
        """The input of each task."""
        forced = self.spec.settings.get(keys.SPLITS_PER_TASK)
        groups = group_splits(self.sizes, cores, splits_per_task=forced)
        return [tuple(self.sources[i] for i in group.splits) for group in groups]


def check_names(schema: Struct) -> None:
    """Raise if columns of the table have names of the change feed's own."""
    taken = [name for name in schema.names if name.lower() in COLUMNS]
    if taken:
        raise error("CHANGES_COLUMN", columns=", ".join(taken))


def plan_changes(table: OpenTable, request: ScanRequest, rows: Sequence[ChangedRows]) -> ChangeScan:
    """How changed rows are read: all that match the request's predicates, in its columns."""
    check_names(table.snapshot.schema)
    filters = plan_predicates(table, request.predicates, request.time_zone)
    files = from_adds(each.entry for each in rows)
    queries, query_of = split_queries(filters, files, table.columns)
    spec = spec_of(
        table.store,
        table.settings,
        table.snapshot,
        request.output,
        queries=queries,
        given=tuple(COLUMNS),
    )
    sources = [ChangeSource.of(each, query) for each, query in zip(rows, query_of, strict=True)]
    return ChangeScan(spec, tuple(sources), tuple(each.entry.size for each in rows))


def read_changes(spec: ReadSpec, sources: Sequence[ChangeSource]) -> Iterator[pa.RecordBatch]:
    """The rows of changes."""
    for each in sources:
        yield from search_split(spec, each.source, _split_of(spec, each), each.given)


def _split_of(spec: ReadSpec, change: ChangeSource) -> Split:
    """The split with all rows deleted that are not part of the change."""
    whole = split_of(spec, change.source)
    if change.only is not None:
        return split_without(spec, change.source, _bitmap(change.only).flip(0, whole.num_docs))
    if change.without is not None:
        return split_without(spec, change.source, _bitmap(change.without))
    return whole


def _text(bitmap: BitMap) -> str:
    return base64.b64encode(bitmap.serialize()).decode()


def _bitmap(text: str) -> BitMap:
    return BitMap.deserialize(base64.b64decode(text))
