"""Dynamic buckets: which bucket of a partition a key hash belongs to, as Apache Paimon assigns it.

A known hash keeps its bucket. A new one goes to the first own bucket that is not full, else to a
new one. Several assigners share a partition by owning every n-th bucket. spec: ROWS dynamic buckets
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

MAX_BUCKETS = 32_767


def assigner_of(
    partition_hash: int, key_hashes: NDArray[np.int32], channels: int, assigners: int
) -> NDArray[np.int64]:
    """The channel that assigns each key, so that a key always meets the same assigner."""
    start = abs(int(np.fmod(partition_hash, channels)))
    own = np.abs(np.fmod(key_hashes.astype(np.int64), assigners))
    return (start + own) % channels


@dataclass
class BucketAssigner:
    """The buckets of one partition as one assigner sees them; `assign` makes it remember more.

    Hashes are kept as sorted arrays (6 bytes a key), so that a bucket of millions costs little.
    """

    target_rows: int = 2_000_000
    max_buckets: int = -1
    assigners: int = 1
    assigner: int = 0
    hashes: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    buckets: NDArray[np.int16] = field(default_factory=lambda: np.empty(0, dtype=np.int16))
    counts: dict[int, int] = field(default_factory=dict)

    def load(self, index: Mapping[int, NDArray[np.int32]]) -> None:
        """Take in the hash index files of the partition, by bucket."""
        for bucket, hashes in index.items():
            if bucket % self.assigners == self.assigner % self.assigners:
                self._remember(np.unique(hashes), bucket)
                self.counts[bucket] = self.counts.get(bucket, 0) + len(hashes)

    def assign(self, hashes: NDArray[np.int32]) -> NDArray[np.int16]:
        """The bucket of each hash; new hashes are remembered."""
        unknown = hashes[~np.isin(hashes, self.hashes)]
        if len(unknown):
            values, first = np.unique(unknown, return_index=True)
            self._place(values[np.argsort(first)])
        found = np.searchsorted(self.hashes, hashes)
        return self.buckets[found]

    def hashes_of(self, bucket: int) -> NDArray[np.int32]:
        """All hashes of a bucket, for its index file."""
        found: NDArray[np.int32] = self.hashes[self.buckets == bucket]
        return found

    def _place(self, new: NDArray[np.int32]) -> None:
        """Fill own buckets in order of their number, then open new ones."""
        at = 0
        while at < len(new):
            bucket = self.open_bucket()
            if bucket is None:
                self._spread(new[at:])
                return
            room = self.target_rows - self.counts.get(bucket, 0)
            taken = np.sort(new[at : at + room])
            self._remember(taken, bucket)
            self.counts[bucket] = self.counts.get(bucket, 0) + len(taken)
            at += len(taken)

    def open_bucket(self) -> int | None:
        """An own bucket with room, an own new one, or None when no more may be opened."""
        for bucket in sorted(self.counts):
            if self.counts[bucket] < self.target_rows:
                return bucket
        if 0 <= self.max_buckets <= len(self.counts):
            return None
        step = self.assigners
        own = range(self.assigner % step, MAX_BUCKETS + 1, step)
        free = next((bucket for bucket in own if bucket not in self.counts), None)
        if free is None:
            raise error("TOO_MANY_BUCKETS", limit=MAX_BUCKETS)
        return free

    def _spread(self, rest: NDArray[np.int32]) -> None:
        """All buckets are full and no more may be opened: share the rest out by hash."""
        own = np.array(sorted(self.counts), dtype=np.int64)
        chosen = own[rest.astype(np.int64) % len(own)]
        for bucket in own:
            taken = np.sort(rest[chosen == bucket])
            self._remember(taken, int(bucket))
            self.counts[int(bucket)] += len(taken)

    def _remember(self, hashes: NDArray[np.int32], bucket: int) -> None:
        places = np.searchsorted(self.hashes, hashes)
        self.hashes = np.insert(self.hashes, places, hashes)
        self.buckets = np.insert(self.buckets, places, np.int16(bucket))
