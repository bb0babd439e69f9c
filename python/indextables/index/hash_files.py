"""Read and cache the hash index files of a table; a name never gets other content."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from indextables.index import hash_index
from indextables.index.bucket_map import BucketMap
from indextables.runtime.cache import Cache
from indextables.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from indextables.config.settings import Settings
    from indextables.log.actions import IndexFile
    from indextables.storage import Store

Partition = tuple[tuple[str, str], ...]
_maps: Cache[tuple[str | None, ...], dict[Partition, BucketMap]] = Cache(4)
_hashes: Cache[tuple[str, str], NDArray[np.int32]] = Cache(256 << 20, lambda found: found.nbytes)


def load_map(
    url: str, settings: Settings, indexes: Iterable[IndexFile], partition: Partition
) -> BucketMap:
    """The hash index of a partition, for a task that knows only the location of the table."""
    wanted = [index for index in indexes if index.partition == partition]
    if not wanted:
        return BucketMap.of({})
    return maps_of(open_store(url, settings), wanted)[partition]


def maps_of(store: Store, indexes: Iterable[IndexFile]) -> dict[Partition, BucketMap]:
    """The hash indexes of partitions for lookups, cached."""
    wanted = list(indexes)
    key = (store.url, *(index.file for index in wanted))

    def build() -> dict[Partition, BucketMap]:
        return {part: BucketMap.of(index) for part, index in hashes_of(store, wanted).items()}

    return _maps.get_or(key, build)


def hashes_of(
    store: Store, indexes: Iterable[IndexFile]
) -> dict[Partition, dict[int, NDArray[np.int32]]]:
    """The hashes by partition and bucket, in order."""
    found: dict[Partition, dict[int, NDArray[np.int32]]] = defaultdict(dict)
    for index in indexes:
        if index.file is not None:
            hashes = load_hashes(store, index.file, index.row_count)
            # other writers do not sort them
            ordered = bool(np.all(hashes[:-1] <= hashes[1:]))
            found[index.partition][index.bucket] = hashes if ordered else np.sort(hashes)
    return found


def load_hashes(store: Store, file: str, count: int | None = None) -> NDArray[np.int32]:
    """The hashes of one file."""
    return _hashes.get_or(
        (store.url, file), lambda: hash_index.decode(store.get(file), count, file)
    )


def forget_hashes(store: Store, files: Mapping[str, object] | Iterable[str]) -> None:
    """Evict files that are deleted."""
    for file in files:
        _hashes.evict((store.url, file))
