"""Write rows of a table with a primary key into splits that hold one bucket each.

A key with a known hash goes to its bucket. New keys go into separate splits, one per assigner,
whose buckets are chosen at the commit, when all new keys are counted. Duplicates are kept: the
commit also decides which row of a key stays live.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from indextables.errors import error
from indextables.index import hash_index
from indextables.index.bucket_map import UNKNOWN, BucketMap, assigner_of
from indextables.index.hash_files import Partition, load_map
from indextables.index.key_hash import hash_keys
from indextables.model import kernels as pc
from indextables.runtime.handles import native_store
from indextables.save.splits import Place, SplitSink, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from indextables.plan.keys import KeySpec

# rows are buffered to be sorted by bucket; splits are larger than this if the keys allow it
_GATHERED_BYTES = 256 << 20


@dataclass
class KeyedSink(SplitSink):
    """Buffers rows, sorts them by bucket, writes one split after another."""

    _gathered: list[pa.RecordBatch] = field(default_factory=list)
    _bytes: int = 0
    # for the rows of the current split: hashes, and their order of arrival if it matters
    _notes: list[NDArray[np.int32]] = field(default_factory=list)
    _coming: NDArray[np.int32] = field(default_factory=lambda: np.empty((1, 0), np.int32))
    _marks: list[NDArray[np.bool_]] = field(default_factory=list)
    _seen: int = 0
    _maps: dict[Partition, BucketMap] = field(default_factory=dict)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            try:
                self._flush()
            except BaseException:
                self._discard()
                raise
        super().__exit__(kind, *rest)

    def add_rows(self, batch: pa.RecordBatch, updated: pa.BooleanArray | None = None) -> None:
        """Add rows, in any order."""
        self._gathered.append(batch)
        marks = pa.repeat(False, batch.num_rows) if updated is None else updated  # noqa: FBT003
        self._marks.append(marks.to_numpy(zero_copy_only=False))
        self._bytes += batch.nbytes
        if self._bytes >= _GATHERED_BYTES:
            self._flush()

    def _flush(self) -> None:
        gathered, self._gathered, self._bytes = self._gathered, [], 0
        if not gathered:
            return
        spec = self.spec
        table = pa.Table.from_batches(gathered).combine_chunks()
        order = np.arange(self._seen, self._seen + table.num_rows, dtype=np.int32)
        facts = np.stack([order, np.concatenate(self._marks).astype(np.int32)])
        self._seen, self._marks = self._seen + table.num_rows, []
        if spec.partition_columns:
            by = [(name, "ascending") for name in spec.partition_columns]
            sorting = pc.sort_indices(table, by)
            table, facts = table.take(sorting).combine_chunks(), facts[:, sorting.to_numpy()]
        at = 0
        for whole in table.to_batches():
            for values, run in runs(spec, whole):
                self._add_partition(values, run, facts[:, at : at + run.num_rows])
                at += run.num_rows

    def _add_partition(
        self, values: dict[str, str], rows: pa.RecordBatch, facts: NDArray[np.int32]
    ) -> None:
        key = self.spec.key
        assert key is not None
        hashes = _hashes(rows, key)
        facts = np.vstack([hashes[None], facts])
        buckets = _targets(self._known(values), hashes, key)
        order = np.argsort(buckets, kind="stable")
        cuts = np.flatnonzero(np.diff(buckets[order])) + 1
        for part in np.split(order, cuts):
            self._add_bucket((values, int(buckets[part[0]])), rows, part, facts)

    def _add_bucket(
        self, place: Place, rows: pa.RecordBatch, part: NDArray[np.int64], facts: NDArray[np.int32]
    ) -> None:
        """Write rows of one bucket; new keys are cut so that a bucket can take whole splits."""
        key = self.spec.key
        assert key is not None
        _, bucket = place
        known = bucket is not None and bucket >= 0
        most = len(part) if known else key.target_rows
        for start in range(0, len(part), most):
            piece = part[start : start + most]
            if place == self._place and self._held_rows() + len(piece) > most:
                self._finish()
            # a key that may change its partition is in several splits, so their order does not help
            self._coming = facts[: 1 if key.in_partition else 2, piece]
            marks = facts[2, piece].astype(bool)
            chosen = rows.take(pa.array(piece))
            self.add_to(place, chosen, pa.array(marks) if marks.any() else None)

    def _held_rows(self) -> int:
        """The number of rows with new keys in the current split."""
        _, bucket = self._place
        held = sum(notes.shape[1] for notes in self._notes)
        return held if bucket is not None and bucket < 0 else 0

    def _wrote(self, batch: pa.RecordBatch) -> None:
        assert self._coming.shape[1] == batch.num_rows
        self._notes.append(self._coming)

    def _finish(self) -> None:
        if self._writer is None:
            return
        super()._finish()
        # in a file: millions of hashes are too many for a task report
        spec, notes = self.spec, np.concatenate(self._notes, axis=1)
        self._notes = []
        name = f"index/index-{uuid.uuid4()}-0"
        native_store(spec.url, spec.store_options).put(name, hash_index.encode(notes.ravel()))
        self.written[-1] = replace(self.written[-1], bucket=self._place[1], hashes=name)

    def _known(self, values: Mapping[str, str]) -> BucketMap:
        spec, partition = self.spec, tuple(sorted(values.items()))
        if partition not in self._maps:
            found = load_map(spec.url, spec.settings, spec.indexes, partition)
            self._maps[partition] = found
        return self._maps[partition]


def _hashes(rows: pa.RecordBatch, key: KeySpec) -> NDArray[np.int32]:
    columns = [rows.column(rows.schema.get_field_index(name)) for name in key.inside]
    for name, column in zip(key.inside, columns, strict=True):
        if column.null_count:
            raise error("PRIMARY_KEY_NULL", column=name)
    return hash_keys(columns)


def _targets(known: BucketMap, hashes: NDArray[np.int32], key: KeySpec) -> NDArray[np.int64]:
    """The bucket of each row; new keys get the number of their assigner, below 0."""
    found = known.first(hashes).astype(np.int64)
    own = assigner_of(hashes, key.assigners)
    return np.where(found == UNKNOWN, UNKNOWN - own, found)
