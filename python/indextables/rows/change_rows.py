"""Change rows: the deleted positions of splits, and the log entries that record them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyroaring import BitMap

from indextables.config import rows as keys
from indextables.errors import error
from indextables.index.deletion_vectors import write_files
from indextables.index.vectors import load_deletions
from indextables.log.actions import AddFile, DeletionVector, RemoveFile
from indextables.log.entries import to_adds
from indextables.log.transaction import Operation
from indextables.model import kernels as pc
from indextables.read.spec import DOC, SPLIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from indextables.config.settings import Settings
    from indextables.log import Log
    from indextables.log.actions import Action

OPERATIONS = {
    "DELETE": Operation.DELETE,
    "UPDATE": Operation.UPDATE,
    "MERGE": Operation.MERGE_INTO,
}


def positions(rows: pa.Table) -> dict[str, BitMap]:
    """Convert row ids (`_split`, `_doc`) to positions by split."""
    if not rows.num_rows:
        return {}
    grouped = pa.TableGroupBy(rows.select([SPLIT, DOC]), SPLIT).aggregate([(DOC, "list")])
    paths, lists = grouped.column(SPLIT), grouped.column(f"{DOC}_list")
    return {
        path.as_py(): BitMap(docs.values.to_numpy(zero_copy_only=False).astype("uint32"))
        for path, docs in zip(paths, lists, strict=True)
    }


def joined(parts: Iterable[Mapping[str, BitMap]]) -> dict[str, BitMap]:
    """The combined positions of several reports."""
    found: dict[str, BitMap] = {}
    for part in parts:
        for path, bitmap in part.items():
            found[path] = found[path] | bitmap if path in found else bitmap
    return found


def without_rows(
    log: Log, files: pa.Table, deleted: Mapping[str, BitMap], settings: Settings
) -> list[Action]:
    """Replace the entries of splits that lose rows by entries with a deletion vector."""
    wanted = pc.is_in(files.column("path"), value_set=pa.array(list(deleted), pa.string()))
    entries = {entry.path: entry for entry in to_adds(files.filter(wanted))}
    missing = sorted(deleted.keys() - entries.keys())
    if missing:
        raise error("FILE_MISSING", path=missing[0])
    total: dict[str, BitMap] = {}
    for path, entry in entries.items():
        vector = entry.deletion_vector
        known = BitMap() if vector is None else load_deletions(log.store, vector)
        total[path] = known | deleted[path]
    return [
        *(RemoveFile(e.path, None, True, e.partition_values, e.size) for e in entries.values()),  # noqa: FBT003
        *with_vectors(log, entries, total, settings),
    ]


def with_vectors(
    log: Log, entries: Mapping[str, AddFile], vectors: Mapping[str, BitMap], settings: Settings
) -> list[AddFile]:
    """The entries without these rows; a split that loses all its rows is left out."""
    kept = {
        path: bitmap
        for path, bitmap in vectors.items()
        if bitmap and not _is_whole(entries[path], bitmap)
    }
    written = put_vectors(log, kept, settings)
    # the merge that wrote this split changed no data, but this commit does
    changed = [
        replace(entries[path], deletion_vector=vector, data_change=True)
        for path, vector in written.items()
    ]
    return [*(entry for entry in entries.values() if not vectors.get(entry.path)), *changed]


def _is_whole(entry: AddFile, bitmap: BitMap) -> bool:
    return entry.num_records is not None and len(bitmap) >= entry.num_records


def put_vectors(
    log: Log, vectors: Mapping[str, BitMap], settings: Settings
) -> dict[str, DeletionVector]:
    """Write bitmaps into index files."""
    name, count = uuid.uuid4(), iter(range(len(vectors) + 1))
    files = write_files(
        vectors.items(),
        lambda: f"index/index-{name}-{next(count)}",
        bitmap64=settings.get(keys.BITMAP64),
        target_bytes=settings.get(keys.INDEX_FILE_TARGET_BYTES),
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
    """Sort rows of (`__op`, row id, columns) into deleted positions and new versions of rows.

    New rows go to `arrived`, with a flag for those that replace an old row.
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
