"""Upsert rows with a primary key: what their commit removes, adds and records.

    hashes of the new rows ──> which buckets may have their keys, which keys came twice
        └─> keys of those rows ──> older rows of the same key, in the splits of those buckets
                └─> contest: one row per key stays, the others go into deletion vectors

All of it is computed for the version that the commit will follow, and recomputed when another
writer commits first; lookups in unchanged splits are not repeated.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from indextables.index import hash_index
from indextables.index.bucket_map import BucketMap, place_split
from indextables.index.hash_files import hashes_of
from indextables.log.actions import IndexFile
from indextables.plan.contest import contest, fold_rows
from indextables.plan.key_splits import bucket_tag, splits_in
from indextables.read.spec import DOC, SPLIT
from indextables.rows.change_rows import joined, positions, with_vectors, without_rows
from indextables.save.splits import SplitSink

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from indextables.index.hash_files import Partition
    from indextables.log.actions import Action, AddFile
    from indextables.plan.contest import Outcome
    from indextables.rows.key_rows import KeyRows


@dataclass(frozen=True)
class Base:
    """What the commit follows: live splits, hashes, and rows that are deleted in any case."""

    files: pa.Table
    hashes: Mapping[Partition, Mapping[int, NDArray[np.int32]]]
    deleted: Mapping[str, BitMap]

    @cached_property
    def maps(self) -> dict[Partition, BucketMap]:
        """The hashes, sorted for lookups."""
        return {part: BucketMap.of(index) for part, index in self.hashes.items()}


@dataclass(frozen=True)
class Upserted:
    """The actions, and by split the rows whose old version was replaced by a new one."""

    actions: tuple[Action, ...]
    updated: Mapping[str, BitMap]


def upsert(
    rows: KeyRows,
    files: pa.Table,
    indexes: Iterable[IndexFile],
    deleted: Mapping[str, BitMap] | None = None,
) -> Upserted:
    """Add new splits to a table with these splits, so that each key has one live row."""
    near = {split.partition for split in rows.splits}
    known = [i for i in indexes if i.partition in near or not rows.key.in_partition]
    base = Base(files, hashes_of(rows.log.store, known), deleted or {})
    gone = defaultdict(BitMap, {path: bitmap.copy() for path, bitmap in (deleted or {}).items()})
    dead = [rows.deletes(at).copy() for at in range(len(rows.splits))]
    buckets = _place(rows, base)
    folded: list[AddFile] = []
    updated: list[Mapping[str, BitMap]] = []
    for scope in _scopes(rows):
        candidates = _candidates(rows, base, scope)
        if candidates is None:
            continue
        outcome = contest(candidates, rows.key.sequence, rows.key.engine)
        _record_deletes(rows, candidates, outcome, dead, gone)
        updated.append(positions(candidates.filter(pa.array(outcome.updated))))
        if len(outcome.parts):
            folded += _fold(rows, candidates, outcome, buckets)
    settings = rows.write.settings
    entries, vectors = _entries(rows, dead, buckets)
    actions = (
        *without_rows(rows.log, files, {p: b for p, b in gone.items() if b}, settings),
        *with_vectors(rows.log, entries, vectors, settings),
        *folded,
        *_index_files(rows, base, buckets),
    )
    whole = {add.path: BitMap(range(add.num_records or 0)) for add in folded}
    return Upserted(actions, joined([*updated, whole]))


def _place(rows: KeyRows, base: Base) -> dict[int, int]:
    """The bucket of each new split that holds more than deletes."""
    key = rows.key
    counts: dict[Partition, dict[int, int]] = {
        part: dict(known.counts) for part, known in base.maps.items()
    }
    found: dict[int, int] = {}
    for at, split in enumerate(rows.splits):
        if len(rows.deletes(at)) == split.num_records:
            continue
        own = counts.setdefault(split.partition, {})
        bucket = split.bucket
        assert bucket is not None, split.path
        if bucket < 0:
            bucket = place_split(
                own,
                -1 - bucket,
                assigners=key.assigners,
                target=key.target_rows,
                most=key.max_buckets,
            )
            own[bucket] = own.get(bucket, 0) + split.num_records
        found[at] = bucket
    return found


def _scopes(rows: KeyRows) -> list[list[int]]:
    """Groups of new splits that may share keys: those of one partition, or all of them."""
    if not rows.key.in_partition:
        return [list(range(len(rows.splits)))] if rows.splits else []
    scopes: dict[Partition, list[int]] = defaultdict(list)
    for at, split in enumerate(rows.splits):
        scopes[split.partition].append(at)
    return list(scopes.values())


def _candidates(rows: KeyRows, base: Base, scope: Sequence[int]) -> pa.Table | None:
    """The rows of keys that may have more than one, new ones and old ones."""
    sizes = [len(rows.hashes(at)) for at in scope]
    hashes = np.concatenate([rows.hashes(at) for at in scope])
    owners = np.repeat(scope, sizes)
    docs = np.concatenate([np.arange(size) for size in sizes])
    wanted = _repeated(hashes)
    near: dict[tuple[Partition, int], NDArray[np.int64]] = {}
    for partition in _partitions(rows, base, scope):
        places, buckets = base.maps[partition].every(hashes)
        wanted[places] = True
        for bucket in np.unique(buckets).tolist():
            near[partition, bucket] = places[buckets == bucket]
    wanted &= ~_ignored(rows, scope, owners, docs)
    if not wanted.any():
        return None
    found = [rows.new_rows(at, BitMap(docs[wanted & (owners == at)])) for at in scope]
    new = pa.concat_tables(found)
    # the position of a wanted row among those that were read
    rank = np.cumsum(wanted) - 1
    splits = splits_in(base.files, near.keys())
    for place, files in splits.items():
        mine = near[place]
        known = new.take(pa.array(rank[mine[wanted[mine]]]))
        if known.num_rows:
            found += rows.old_rows(files, place[1], known, base.deleted)
    return pa.concat_tables(found)


def _partitions(rows: KeyRows, base: Base, scope: Sequence[int]) -> list[Partition]:
    """The splits that may have rows with the same keys."""
    if not rows.key.in_partition:
        return list(base.maps)
    own = rows.splits[scope[0]].partition
    return [own] if own in base.maps else []


def _ignored(
    rows: KeyRows, scope: Sequence[int], owners: NDArray[np.int64], docs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Deletes without effect: ignored by configuration, or because first rows stay."""
    mask = np.zeros(len(owners), dtype=bool)
    if rows.key.ignore_delete or rows.key.engine == "first-row":
        for at in scope:
            gone = np.asarray(rows.deletes(at).to_array(), dtype=np.int64)
            mask |= (owners == at) & np.isin(docs, gone)
    return mask


def _repeated(hashes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which values occur more than once."""
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    found = np.zeros(len(hashes), dtype=bool)
    found[order[1:][same]] = True
    found[order[:-1][same]] = True
    return found


def _record_deletes(
    rows: KeyRows,
    candidates: pa.Table,
    outcome: Outcome,
    dead: Sequence[BitMap],
    gone: Mapping[str, BitMap],
) -> None:
    """Record the deleted rows, by split."""
    losers = candidates.select([SPLIT, DOC]).filter(pa.array(outcome.dead))
    paths = losers.column(SPLIT).combine_chunks().dictionary_encode()
    codes, docs = paths.indices.to_numpy(), losers.column(DOC).to_numpy().astype(np.uint32)
    for code, path in enumerate(paths.dictionary.to_pylist()):
        bitmap = dead[rows.own[path]] if path in rows.own else gone[path]
        bitmap |= BitMap(docs[codes == code])


def _entries(
    rows: KeyRows, dead: Sequence[BitMap], buckets: Mapping[int, int]
) -> tuple[dict[str, AddFile], dict[str, BitMap]]:
    """The new splits that have a bucket, and their rows that are never live."""
    adds = {
        rows.splits[at].path: replace(rows.splits[at].to_add(), split_tags=bucket_tag(bucket))
        for at, bucket in buckets.items()
    }
    return adds, {rows.splits[at].path: dead[at] for at in buckets}


def _index_files(rows: KeyRows, base: Base, buckets: Mapping[int, int]) -> list[IndexFile]:
    """New hash index files of the buckets that got new hashes."""
    fresh: dict[tuple[Partition, int], list[NDArray[np.int32]]] = defaultdict(list)
    for at, bucket in buckets.items():
        deletes = np.asarray(rows.deletes(at).to_array(), dtype=np.int64)
        hashes = rows.hashes(at)
        live = np.delete(hashes, deletes) if len(deletes) else hashes
        fresh[rows.splits[at].partition, bucket].append(live)
    name, files = uuid.uuid4(), list[IndexFile]()
    for (partition, bucket), parts in fresh.items():
        known = base.hashes.get(partition, {}).get(bucket, np.empty(0, np.int32))
        every = _with_new(known, np.concatenate(parts))
        if len(every) == len(known):
            continue
        data, file = hash_index.encode(every), f"index/index-{name}-{len(files)}"
        rows.log.store.put(file, data, if_absent=True)
        files.append(IndexFile(dict(partition), bucket, file, len(data), len(every)))
    return files


def _with_new(known: NDArray[np.int32], hashes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Merge new hashes into the sorted known ones; most writes add few."""
    found = np.searchsorted(known, hashes)
    found[found == len(known)] = 0
    new = hashes[known[found] != hashes] if len(known) else hashes
    if not len(new):
        return known
    return np.sort(np.concatenate([known, np.unique(new)]), kind="stable")


def _fold(
    rows: KeyRows, candidates: pa.Table, outcome: Outcome, buckets: Mapping[int, int]
) -> list[AddFile]:
    """New splits of the rows that partial updates merge into."""
    parts = candidates.select([SPLIT, DOC]).take(pa.array(outcome.parts))
    merged = fold_rows(rows.full_rows(parts), outcome.starts)
    # a row goes to the partition of its last part; others may be in other partitions
    ends = np.append(outcome.starts[1:], parts.num_rows) - 1
    paths = parts.column(SPLIT).take(pa.array(ends)).combine_chunks().dictionary_encode()
    codes = paths.indices.to_numpy()
    adds: list[AddFile] = []
    for code, path in enumerate(paths.dictionary.to_pylist()):
        at = rows.own.get(path)
        values, bucket = (
            rows.place(path)
            if at is None
            else (dict(rows.splits[at].partition_values), buckets[at])
        )
        assert bucket is not None
        chosen = merged.filter(pa.array(codes == code)).combine_chunks()
        with SplitSink(replace(rows.write, key=None)) as sink:
            for batch in chosen.select(rows.write.split_schema.names).to_batches():
                sink.add_to((values, None), batch)
        tags = bucket_tag(bucket)
        adds += [replace(split.to_add(), split_tags=tags) for split in sink.written]
    return adds
