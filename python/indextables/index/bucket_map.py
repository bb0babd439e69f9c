"""The hash index of a partition in memory: which buckets may hold a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

UNKNOWN = -1
MAX_BUCKETS = 32_767


@dataclass(frozen=True)
class BucketMap:
    """Sorted key hashes, each with its bucket (6 bytes per key).

    A hash may be in several buckets, because two writers may have added it at the same time, for
    different keys or for the same one. So a key is looked up in all of them.
    """

    hashes: NDArray[np.int32]
    buckets: NDArray[np.int16]
    counts: Mapping[int, int]

    @classmethod
    def of(cls, index: Mapping[int, NDArray[np.int32]]) -> BucketMap:
        """From the hash index files of a partition, by bucket."""
        if not index:
            return cls(np.empty(0, np.int32), np.empty(0, np.int16), {})
        numbers = sorted(index)
        hashes = np.concatenate([index[number] for number in numbers])
        sizes = [len(index[number]) for number in numbers]
        buckets = np.repeat(np.array(numbers, dtype=np.int16), sizes)
        if len(numbers) == 1 and bool(np.all(hashes[:-1] <= hashes[1:])):
            return cls(hashes, buckets, {numbers[0]: sizes[0]})
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], buckets[order], dict(zip(numbers, sizes, strict=True)))

    def first(self, hashes: NDArray[np.int32]) -> NDArray[np.int16]:
        """The bucket of each hash, or UNKNOWN."""
        if not len(self.hashes):
            return np.full(len(hashes), UNKNOWN, dtype=np.int16)
        found = np.searchsorted(self.hashes, hashes)
        found[found == len(self.hashes)] = 0
        return np.where(self.hashes[found] == hashes, self.buckets[found], np.int16(UNKNOWN))

    def every(self, hashes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """All pairs of the position of a given hash and a bucket that has it."""
        low = np.searchsorted(self.hashes, hashes, side="left")
        count = np.searchsorted(self.hashes, hashes, side="right") - low
        places = np.repeat(np.arange(len(hashes), dtype=np.int64), count)
        within = np.arange(len(places)) - np.repeat(np.cumsum(count) - count, count)
        return places, self.buckets[np.repeat(low, count) + within]


def assigner_of(hashes: NDArray[np.int32], assigners: int) -> NDArray[np.int64]:
    """The assigner of each key hash; a key always has the same one."""
    found: NDArray[np.int64] = np.abs(np.fmod(hashes.astype(np.int64), assigners))
    return found


def place_split(
    counts: Mapping[int, int], assigner: int, *, assigners: int, target: int, most: int
) -> int:
    """The bucket for a split of new keys, by Paimon's rule for single keys.

    The first own bucket that is not full, or else a new one, or else, at the maximum number of
    buckets, the one with the fewest keys. A bucket takes whole splits, so it may exceed the target
    by less than one split. spec: ROWS dynamic buckets
    """
    own = {b: n for b, n in counts.items() if b % assigners == assigner % assigners}
    for bucket in sorted(own):
        if own[bucket] < target:
            return bucket
    if own and 0 <= most <= len(own):
        return min(own, key=lambda bucket: (own[bucket], bucket))
    numbers = range(assigner % assigners, MAX_BUCKETS + 1, assigners)
    free = next((bucket for bucket in numbers if bucket not in own), None)
    if free is None:
        raise error("TOO_MANY_BUCKETS", limit=MAX_BUCKETS)
    return free
