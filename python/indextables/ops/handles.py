"""Stores and splits kept open between queries, in the planner and in every worker."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from indextables.config import cache as cache_keys
from indextables.engine.cache import clear_memory
from indextables.engine.profiler import enable_profiler
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.log.actions import DeletionVector
from indextables.ops.vectors import load_deletions
from indextables.storage import open_store as open_port

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables import _native
    from indextables.config.settings import Settings

Vector = tuple[str, int, int, int]
Key = tuple[str, str, str, Vector | None, str]

_OPEN_SPLITS = 512
_splits: OrderedDict[Key, Split] = OrderedDict()


@dataclass
class _Held:
    """What this process was told to do with what it keeps."""

    flushed_ns: int = 0
    profiled: bool = False
    hits: int = 0
    misses: int = 0


_held = _Held()


@dataclass(frozen=True)
class Orders:
    """What the planner tells the workers with every task: nobody can call a worker."""

    app: str = ""
    flushed_ns: int = 0
    profiled: bool = False


@lru_cache(maxsize=64)
def native_store(url: str, options: str) -> _native.Store:
    """The engine's handle on a table's store."""
    return open_store(url, options)


def open_split(
    place: tuple[str, str],
    path: str,
    footer: tuple[int, int] | None,
    vector: Vector | None,
    *,
    schema: pa.Schema,
    settings: Settings,
) -> Split:
    """A split ready to be asked, its deleted rows left out; `place` is address and options."""
    key = (*place, path, vector, str(schema))
    found = _splits.get(key)
    if found is not None:
        _held.hits += 1
        return found
    _held.misses += 1
    deleted = None if vector is None else _deleted(place[0], vector, settings)
    found = Split(native_store(*place), path, footer, deleted, schema)
    if settings.get(cache_keys.QUERY_CACHE):
        _splits[key] = found
        if len(_splits) > _OPEN_SPLITS:
            _splits.popitem(last=False)
    return found


def flush() -> tuple[int, int]:
    """Close open splits and forget what memory holds of them: splits and pieces."""
    held = len(_splits)
    _splits.clear()
    return held, clear_memory()[0]


def flush_everywhere() -> tuple[int, int]:
    """The same, and have every worker do so before its next task."""
    _held.flushed_ns = time.time_ns()
    return flush()


def profile(*, on: bool) -> None:
    """Measure the engine, here and in the workers of later tasks."""
    _held.profiled = on
    enable_profiler(on=on)


def is_profiled() -> bool:
    """Whether the engine is measured."""
    return _held.profiled


def counts(*, reset: bool = False) -> tuple[int, int]:
    """How often a split was open already, and how often not."""
    found = _held.hits, _held.misses
    if reset:
        _held.hits = _held.misses = 0
    return found


def orders(app: str) -> Orders:
    """What workers are to be told now."""
    return Orders(app, _held.flushed_ns, _held.profiled)


def follow(given: Orders) -> None:
    """Do what the planner told since this worker's last task."""
    if not given.app:
        return
    if given.flushed_ns > _held.flushed_ns:
        flush()
        _held.flushed_ns = given.flushed_ns
    if given.profiled != _held.profiled:
        profile(on=given.profiled)


def _deleted(url: str, vector: Vector, settings: Settings) -> bytes:
    found: bytes = load_deletions(open_port(url, settings), DeletionVector(*vector)).serialize()
    return found
