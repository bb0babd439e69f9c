"""Stores and splits kept open between queries, in the planner and in every worker."""

from __future__ import annotations

import time
from base64 import b64decode
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from indextables.config import cache as cache_keys
from indextables.engine.cache import clear_memory
from indextables.engine.profiler import enable_profiler
from indextables.engine.source import SourceSpec, open_source
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.runtime.cache import Cache
from indextables.runtime.host_files import host_folder, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from indextables import _native
    from indextables.config.settings import Settings

Vector = tuple[str, int, int, int]
# the schema of a table as the log has it, and the columns that are not inside its splits
ColumnsInside = tuple[str, tuple[str, ...]]
Key = tuple[str, str, str, Vector | None, ColumnsInside, str | None, SourceSpec | None]

_splits: Cache[Key, Split] = Cache(512)


@dataclass
class _Held:
    """Orders to this process about its caches."""

    flushed_ns: int = 0
    profiled: bool = False


_held = _Held()


@dataclass(frozen=True)
class Orders:
    """Return the orders that the planner sends with every task, as it cannot call a worker."""

    app: str = ""
    flushed_ns: int = 0
    profiled: bool = False


@lru_cache(maxsize=64)
def native_store(url: str, options: str) -> _native.Store:
    """The engine's store of a table."""
    return open_store(url, options)


def open_split(
    place: tuple[str, str],
    path: str,
    footer: tuple[int, int] | None,
    vector: Vector | None,
    *,
    columns: ColumnsInside,
    schema: Callable[[], pa.Schema],
    settings: Settings,
    deleted: Callable[[Vector], bytes],
    hidden: str | None = None,
    rows: SourceSpec | None = None,
) -> Split:
    """Open a split without its deleted rows, or take it from the cache.

    `place` is the store's URL and options, `columns` determine the `schema`, `deleted` loads the
    rows of a deletion vector. For a companion, `rows` is where its rows are, and `hidden` a base64
    bitmap of those that its source does not have, used instead of the vector.
    """
    key = (*place, path, vector, columns, hidden, rows)

    def opened() -> Split:
        gone = None if vector is None else deleted(vector)
        if hidden is not None:
            gone = b64decode(hidden)
        source = None if rows is None else open_source(rows)
        return Split(native_store(*place), path, footer, gone, schema(), source=source)

    if settings.get(cache_keys.QUERY_CACHE):
        return _splits.get_or(key, opened)
    return _splits.get(key) or opened()


def flush() -> tuple[int, int]:
    """Close open splits and drop their cached data; return the splits and cache entries dropped."""
    return _splits.clear(), clear_memory()[0]


def flush_everywhere(app: str) -> tuple[int, int]:
    """The same here, and in every process of the application before its next task."""
    now = time.time_ns()
    _tell(app, flushed_ns=now)
    _held.flushed_ns = now
    return flush()


def profile_everywhere(app: str, *, on: bool) -> None:
    """Start or stop profiling the engine, here and in all later tasks of the application."""
    _tell(app, profiled=on)
    _profile(on=on)


def _profile(*, on: bool) -> None:
    _held.profiled = on
    enable_profiler(on=on)


def counts(*, reset: bool = False) -> tuple[int, int]:
    """Hits and misses of the cache of open splits."""
    found = _splits.counts(reset=reset)
    return found.hits, found.misses


def orders(app: str) -> Orders:
    """Return the orders to the processes of an application; the driver has several planners."""
    stored = read_json(_orders_file(app)) if app else None
    return Orders(app, **stored) if stored else Orders(app)


def follow(given: Orders) -> None:
    """Apply the orders issued since this process's last task."""
    if not given.app:
        return
    if given.flushed_ns > _held.flushed_ns:
        flush()
        _held.flushed_ns = given.flushed_ns
    if given.profiled != _held.profiled:
        _profile(on=given.profiled)


def _tell(app: str, **what: int | bool) -> None:
    write_json(_orders_file(app), (read_json(_orders_file(app)) or {}) | what)


def _orders_file(app: str) -> Path:
    return host_folder(app, "orders") / "orders.json"
