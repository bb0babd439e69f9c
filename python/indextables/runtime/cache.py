"""The cache of this package: bounded, LRU, thread-safe."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class CacheCounts:
    """Hits and misses of a cache."""

    hits: int = 0
    misses: int = 0


class Cache(Generic[Key, Value]):
    """Values by key, limited by the number of entries or by the sum of `weigh`.

    A value heavier than the whole limit is not cached. Values are never None.
    """

    def __init__(self, limit: int, weigh: Callable[[Value], int] | None = None) -> None:
        self._limit = limit
        self._weigh = weigh
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._weight = 0
        self._hits = self._misses = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        """The value of a key, or None; counted as a hit or a miss."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value) -> None:
        """Put a value, replacing an earlier one, and evict what exceeds the limit."""
        weight = self._weight_of(value)
        with self._lock:
            self._remove(key)
            self._add(key, value, weight)

    def get_or(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key, and build and cache it on a miss.

        It is built without the lock, so that a slow one does not block others. Two threads may
        build it at once; then both get the one that was built first.
        """
        found = self.get(key)
        if found is not None:
            return found
        made = make()
        weight = self._weight_of(made)
        with self._lock:
            held = self._entries.get(key)
            if held is not None:
                return held[0]
            self._add(key, made, weight)
        return made

    def evict(self, key: Key) -> None:
        """Evict a key, if present."""
        with self._lock:
            self._remove(key)

    def clear(self) -> int:
        """Evict everything; return how many entries there were."""
        with self._lock:
            held = len(self._entries)
            self._entries.clear()
            self._weight = 0
            return held

    def values(self) -> list[Value]:
        """All values, the least recently used first."""
        with self._lock:
            return [value for value, _ in self._entries.values()]

    def counts(self, *, reset: bool = False) -> CacheCounts:
        """Hits and misses since the start or the last reset."""
        with self._lock:
            found = CacheCounts(self._hits, self._misses)
            if reset:
                self._hits = self._misses = 0
            return found

    def _weight_of(self, value: Value) -> int:
        return 1 if self._weigh is None else self._weigh(value)

    def _add(self, key: Key, value: Value, weight: int) -> None:
        if weight > self._limit:
            return
        self._entries[key] = (value, weight)
        self._weight += weight
        while self._weight > self._limit:
            self._remove(next(iter(self._entries)))

    def _remove(self, key: Key) -> None:
        held = self._entries.pop(key, None)
        if held is not None:
            self._weight -= held[1]
