"""Changing rows: positions to leave out of splits, new splits beside them, one commit."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from indextables.config import rows as keys
from indextables.errors import error
from indextables.index.deletion_vectors import write_files
from indextables.log.actions import AddFile, DeletionVector, RemoveFile
from indextables.log.entries import to_adds
from indextables.log.protocol import DELETION_VECTORS
from indextables.log.transaction import Operation, Transaction
from indextables.ops.read import DOC, SPLIT
from indextables.ops.vectors import load_deletions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.log import Committed, Log, Snapshot
    from indextables.log.actions import Action
    from indextables.ops.write import WrittenSplit

OPERATIONS = {
    "DELETE": Operation.DELETE,
    "UPDATE": Operation.UPDATE,
    "MERGE": Operation.MERGE_INTO,
}

# the member of commitInfo that names changed rows: split path -> bitmap in an index file
UPDATED_ROWS = "updatedRows"


@dataclass(frozen=True)
class RowChange:
    """Rows that go, by split and position, and the splits of rows that come."""

    operation: Operation
    deleted: Mapping[str, BitMap]
    splits: Sequence[WrittenSplit] = ()
    # of those, by old or new split: rows whose old state goes and whose new state comes; unless
    # it is the whole change, as in an update
    updated: Mapping[str, BitMap] = field(default_factory=dict)


def positions(rows: pa.Table) -> dict[str, BitMap]:
    """Row ids (`_split`, `_doc`) as positions by split."""
    if not rows.num_rows:
        return {}
    grouped = pa.TableGroupBy(rows.select([SPLIT, DOC]), SPLIT).aggregate([(DOC, "list")])
    paths, lists = grouped.column(SPLIT), grouped.column(f"{DOC}_list")
    return {
        path.as_py(): BitMap(docs.values.to_numpy(zero_copy_only=False).astype("uint32"))
        for path, docs in zip(paths, lists, strict=True)
    }


def joined(parts: Iterable[Mapping[str, BitMap]]) -> dict[str, BitMap]:
    """The positions of several reports together."""
    found: dict[str, BitMap] = {}
    for part in parts:
        for path, bitmap in part.items():
            found[path] = found[path] | bitmap if path in found else bitmap
    return found


def commit_rows(log: Log, change: RowChange, table: Snapshot, settings: Settings) -> Committed:
    """Make a change of rows visible; it fails when another writer changed the same splits."""
    gone = changed_splits(log, change.deleted, table, settings)
    adds: tuple[Action, ...] = tuple(split.to_add() for split in change.splits)
    metrics = {
        "deletedRows": sum(len(bitmap) for bitmap in change.deleted.values()),
        "rows": sum(split.num_records for split in change.splits),
    }
    return log.commit(
        Transaction(
            change.operation,
            table.version,
            (*gone, *adds),
            features=frozenset({DELETION_VECTORS} if any(_has_vector(a) for a in gone) else ()),
            metrics=metrics,
            notes=_updated_rows(log, change.updated, settings),
        )
    )


def _updated_rows(
    log: Log, updated: Mapping[str, BitMap], settings: Settings
) -> dict[str, dict[str, Any]]:
    """What the change feed needs to pair old and new states of rows."""
    vectors = _put_vectors(log, updated, settings)
    return {UPDATED_ROWS: {path: asdict(v) for path, v in vectors.items()}} if vectors else {}


def _has_vector(action: Action) -> bool:
    return isinstance(action, AddFile) and action.deletion_vector is not None


def changed_splits(
    log: Log, deleted: Mapping[str, BitMap], table: Snapshot, settings: Settings
) -> list[Action]:
    """The splits that lose rows: out with the old entry, in with its deletion vector."""
    found = table.files()
    wanted = pc.is_in(found.column("path"), value_set=pa.array(list(deleted), pa.string()))
    entries = {entry.path: entry for entry in to_adds(found.filter(wanted))}
    missing = sorted(deleted.keys() - entries.keys())
    if missing:
        raise error("FILE_MISSING", path=missing[0])
    actions: list[Action] = []
    vectors: dict[str, BitMap] = {}
    for path, entry in entries.items():
        bitmap = deleted[path]
        if entry.deletion_vector is not None:
            bitmap = bitmap | load_deletions(log.store, entry.deletion_vector)
        actions.append(
            RemoveFile(path=path, partition_values=entry.partition_values, size=entry.size)
        )
        if entry.num_records is None or len(bitmap) < entry.num_records:
            vectors[path] = bitmap
    actions += _with_vectors(log, entries, vectors, settings)
    return actions


def _with_vectors(
    log: Log, entries: Mapping[str, AddFile], vectors: Mapping[str, BitMap], settings: Settings
) -> list[AddFile]:
    written = _put_vectors(log, vectors, settings)
    # a split that came from a merge changed no data then, but does now
    return [
        replace(entries[path], deletion_vector=vector, data_change=True)
        for path, vector in written.items()
    ]


def _put_vectors(
    log: Log, vectors: Mapping[str, BitMap], settings: Settings
) -> dict[str, DeletionVector]:
    """Write bitmaps into index files."""
    name, count = uuid.uuid4(), iter(range(len(vectors) + 1))
    files = write_files(
        vectors.items(),
        lambda: f"index/index-{name}-{next(count)}",
        bitmap64=settings.get(keys.BITMAP64),
    )
    found: dict[str, DeletionVector] = {}
    for file in files:
        log.store.put(file.name, file.data, if_absent=True)
        for path, place in file.ranges.items():
            vector = DeletionVector(file.name, place.offset, place.length, place.cardinality)
            found[path] = vector
    return found


def split_delta(
    batches: Iterable[pa.RecordBatch], arrived: Callable[[pa.RecordBatch, pa.BooleanArray], None]
) -> tuple[dict[str, BitMap], dict[str, BitMap]]:
    """Sort rows of (`__op`, row id, columns): what goes, and what of it comes back changed.

    New rows are given to `arrived`, with which of them are changed ones.
    """
    gone: list[dict[str, BitMap]] = []
    updated: list[dict[str, BitMap]] = []
    for batch in batches:
        op = batch.column(0)
        for parts, mask in ((gone, pc.less(op, _INSERT)), (updated, pc.equal(op, _UPDATE))):
            old = batch.filter(mask)
            if old.num_rows:
                parts.append(positions(pa.Table.from_batches([old])))
        new = batch.filter(pc.greater(op, _DELETE))
        if new.num_rows:
            arrived(new, pc.equal(new.column(0), _UPDATE))
    return joined(gone), joined(updated)


_DELETE, _UPDATE, _INSERT = 1, 2, 3
