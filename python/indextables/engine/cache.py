"""The caches of remote split data in this process, and the disk cache it shares with others."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from indextables import _native

# on exit, write what was fetched to the disk cache for the next process
atexit.register(_native.cache_sync)


@dataclass(frozen=True)
class CacheStats:
    """Counters of the caches since the process started or since the last reset."""

    memory_hits: int = 0
    memory_misses: int = 0
    memory_hit_bytes: int = 0
    memory_used: int = 0
    disk_hits: int = 0
    disk_misses: int = 0
    disk_hit_bytes: int = 0
    disk_writes: int = 0
    disk_written_bytes: int = 0
    disk_evictions: int = 0
    disk_evicted_bytes: int = 0
    disk_corrupt: int = 0
    disk_dropped: int = 0
    disk_failed: int = 0

    def __add__(self, other: Self) -> CacheStats:
        names = [field.name for field in fields(self)]
        return CacheStats(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True)
class DiskUsage:
    """The content of a disk cache: bytes, entries and splits."""

    folder: str
    max_bytes: int
    bytes: int
    pieces: int
    splits: int


def cache_stats(*, reset: bool = False) -> CacheStats:
    """Hits, misses and bytes."""
    return CacheStats(**_native.cache_stats(reset))


def sync_cache() -> None:
    """Wait until all pending entries are written to disk."""
    _native.cache_sync()


def clear_memory() -> tuple[int, int]:
    """Clear the memory cache; return its entries and bytes."""
    return _native.clear_memory_cache()


def disk_usage(options: Mapping[str, str | int]) -> DiskUsage | None:
    """The disk cache that store options describe, or None if it is disabled."""
    found = _native.disk_cache_usage(_texts(options))
    return None if found is None else DiskUsage(*found)


def clear_disk(options: Mapping[str, str | int]) -> tuple[int, int] | None:
    """Delete the disk cache of these store options; return bytes and entries, None if disabled."""
    return _native.clear_disk_cache(_texts(options))


def _texts(options: Mapping[str, str | int]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}
