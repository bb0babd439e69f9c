"""Counters of the processes of one host: requests, cache hits, profiles.

Spark's Python workers are short-lived, and no process can call a particular one. So each adds its
counters to its own file after every task, and readers add up the files of the host.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from indextables.engine.cache import CacheStats, cache_stats
from indextables.engine.profiler import Measured, add_up, enable_profiler, profile_sections
from indextables.engine.store import traffic
from indextables.runtime.host_files import all_json, host_folder, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FOLDER = "stats"


@dataclass(frozen=True)
class ProcessStats:
    """Counters of one process, or the sum of several."""

    requests: int = 0
    bytes: int = 0
    cache: CacheStats = field(default_factory=CacheStats)
    sections: list[Measured] = field(default_factory=list)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The counters in a file or a task's answer."""
        sections = [Measured(**section) for section in value["sections"]]
        return cls(value["requests"], value["bytes"], CacheStats(**value["cache"]), sections)

    def __add__(self, other: ProcessStats) -> ProcessStats:
        return ProcessStats(
            self.requests + other.requests,
            self.bytes + other.bytes,
            self.cache + other.cache,
            add_up([self.sections, other.sections]),
        )


def total(parts: Iterable[ProcessStats]) -> ProcessStats:
    """The sum of counters."""
    return sum(parts, ProcessStats())


# the part of this process's counters that was already reported
_taken_requests = 0
_taken_bytes = 0


def take() -> ProcessStats:
    """The counters of this process since the last report."""
    global _taken_requests, _taken_bytes
    now = traffic()
    new = ProcessStats(
        now.requests - _taken_requests,
        now.bytes - _taken_bytes,
        # current sizes cannot be summed over time
        replace(cache_stats(reset=True), memory_used=0),
        profile_sections(reset=True),
    )
    _taken_requests, _taken_bytes = now.requests, now.bytes
    return new


@dataclass(frozen=True)
class Fetched:
    """What reads took from the store and from the caches."""

    requests: int
    hedged: int
    bytes: int
    hits: int
    misses: int

    def __sub__(self, earlier: Fetched) -> Fetched:
        return Fetched(
            self.requests - earlier.requests,
            self.hedged - earlier.hedged,
            self.bytes - earlier.bytes,
            self.hits - earlier.hits,
            self.misses - earlier.misses,
        )

    def metrics(self) -> dict[str, int]:
        """Keyed by the names in jvm/src/Metrics.scala."""
        return {
            "requests": self.requests,
            "requestsHedged": self.hedged,
            "bytesFetched": self.bytes,
            "cacheHits": self.hits,
            "cacheMisses": self.misses,
        }


def fetched() -> Fetched:
    """What this process has fetched; only differences are meaningful."""
    now, cache = traffic(), cache_stats()
    # a miss in memory is looked up on disk
    missed = cache.memory_misses - cache.disk_hits
    return Fetched(now.requests, now.hedged, now.bytes, cache.memory_hits + cache.disk_hits, missed)


def publish(app: str, *, profiled: bool) -> None:
    """Add the counters of this worker to its file, and start or stop profiling."""
    if not app:
        return
    file = host_folder(app, _FOLDER) / f"{os.getpid()}.json"
    known = read_json(file)
    before = ProcessStats() if known is None else ProcessStats.from_json(known)
    write_json(file, asdict(before + take()))
    enable_profiler(on=profiled)


def run_stats_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counters of all processes on this host; `reset` sets them to zero."""
    folder = host_folder(payload["app"], _FOLDER)
    if payload.get("own"):
        publish(payload["app"], profiled=payload["profiled"])
    found = []
    for file, value in all_json(folder):
        stats = ProcessStats.from_json(value)
        found.append(stats)
        if reset := payload.get("reset"):
            write_json(file, asdict(_without(stats, reset)))
    return asdict(total(found))


def _without(stats: ProcessStats, what: str) -> ProcessStats:
    """The counters after a reset of the profile or of the cache counters."""
    cache = CacheStats() if what == "caches" else stats.cache
    sections = [] if what == "sections" else stats.sections
    return ProcessStats(stats.requests, stats.bytes, cache, sections)
