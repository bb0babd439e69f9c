"""The newest snapshot of a table, cached between queries; each query checks for newer versions.

One check runs at a time, and all queries that wait share the next one: many concurrent queries cost
the store few requests.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indextables.config import log as keys
from indextables.log.reading import looking_again
from indextables.log.refresh import refresh, version_mark
from indextables.runtime.cache import Cache
from indextables.runtime.shared_call import SharedCall

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.log.clock import Clock
    from indextables.log.reading import Reader
    from indextables.log.refresh import Mark
    from indextables.log.snapshot import Snapshot

# older versions that running queries may still read
_PAST = 4


@dataclass(frozen=True)
class _Held:
    """A cached snapshot, the mark of its version file, and when it was last the newest."""

    snapshot: Snapshot
    mark: Mark | None
    looked_at_ms: int

    def is_same(self, other: _Held) -> bool:
        """Whether both are the same version of the same table."""
        return (self.snapshot.version, self.mark) == (other.snapshot.version, other.mark)


class Newest:
    """The newest snapshot and a few older ones. Thread-safe."""

    def __init__(self, reader: Reader, settings: Settings, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._cached = settings.get(keys.CACHE_ENABLED)
        self._ttl_ms = _ttl_ms(settings)
        self._held: _Held | None = None
        self._past: Cache[int, tuple[Mark, Snapshot]] = Cache(_PAST)
        # never held during a request
        self._lock = threading.Lock()
        self._look = SharedCall(lambda: looking_again(self._find))

    def get(self) -> Snapshot:
        """The newest version."""
        held = self._held
        if held is not None and self._cached and self._is_fresh(held):
            return held.snapshot
        return self._look()

    def at(self, version: int) -> Snapshot:
        """An older version, cached because the calls of one query request it several times."""
        held = self._held
        if held is not None and held.snapshot.version == version:
            return held.snapshot
        mark = version_mark(self._reader.store, version) if self._cached else None
        known = self._past.get(version)
        if mark is not None and known is not None and known[0] == mark:
            return known[1]
        found = looking_again(lambda: self._reader.load(version))
        if mark is not None:
            self._past.put(version, (mark, found))
        return found

    def hold(self, snapshot: Snapshot) -> Snapshot:
        """Cache a snapshot that was just committed or loaded, unless a newer one is cached."""
        mark = version_mark(self._reader.store, snapshot.version) if self._cached else None
        return self._keep(_Held(snapshot, mark, self._clock.now_ms()))

    def reload(self, version: int) -> None:
        """Load the cached version again, because it has a checkpoint now."""
        held = self._held
        if held is None or held.snapshot.version != version:
            return
        found = self._reader.load(version)
        with self._lock:
            if self._held is held:
                self._held = _Held(found, held.mark, held.looked_at_ms)

    def forget(self) -> None:
        """Drop everything that is cached."""
        with self._lock:
            self._held = None
        self._past.clear()

    def _find(self) -> Snapshot:
        held = self._held
        if held is not None and self._cached and held.mark is not None:
            began = self._clock.now_ms()
            found = refresh(self._reader, held.snapshot, held.mark)
            if found is not None:
                return self._keep(_Held(*found, began))
        with self._lock:  # the table was dropped or recreated
            if self._held is held:
                self._held = None
        return self.hold(self._reader.load())

    def _keep(self, new: _Held) -> Snapshot:
        with self._lock:
            held = self._held
            if held is not None and held.snapshot.version > new.snapshot.version:
                return held.snapshot
            if held is not None and held.is_same(new):
                # the cached one may be based on a newer checkpoint
                new = replace(held, looked_at_ms=new.looked_at_ms)
            self._held = new
        if held is not None and held.mark and held.snapshot.version < new.snapshot.version:
            self._past.put(held.snapshot.version, (held.mark, held.snapshot))
        return new.snapshot

    def _is_fresh(self, held: _Held) -> bool:
        return self._clock.now_ms() - held.looked_at_ms < self._ttl_ms


def _ttl_ms(settings: Settings) -> float:
    """How long a check is valid; 0: every query checks."""
    ttl = settings.get(keys.CACHE_TTL_MS)
    seconds = settings.get(keys.CACHE_EXPIRATION_SECONDS)
    return ttl if ttl is not None else 0 if seconds is None else seconds * 1000
