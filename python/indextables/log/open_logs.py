"""Logs that stay open between the calls of a process: a call reads only newer commits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from indextables.config import cache as cache_keys
from indextables.config import log as log_keys
from indextables.config import storage as storage_keys
from indextables.log.log import Log, open_log
from indextables.runtime.cache import Cache
from indextables.storage import open_store
from indextables.storage.address import parse_address

if TYPE_CHECKING:
    from indextables.config.settings import Settings

_SHAPING = (*storage_keys.OPTIONS, *cache_keys.OPTIONS, *log_keys.OPTIONS)


class _OpenLogs:
    """The logs of this process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop all logs, with a new lock that no thread holds."""
        self.logs: Cache[tuple[object, ...], Log] = Cache(64)


_open = _OpenLogs()
# a thread of the parent may have held the locks of its logs, and no thread of a child frees them
os.register_at_fork(after_in_child=_open.forget)


def log_at(path: str, settings: Settings) -> Log:
    """The log of the table at a path, opened once for the same access and log settings.

    Access may also change with the environment, which the options of the store reflect.
    """
    store = open_store(path, settings)
    # values, not their strings: all secrets print the same
    shaping = [(each.key, settings.get(each)) for each in _SHAPING if settings.is_set(each)]
    hadoop = (*sorted(settings.hadoop.items()), *sorted(settings.hdfs.items()))
    key = (store.url, *store.native(), *shaping, *hadoop)
    return _open.logs.get_or(key, lambda: open_log(store, settings))


def invalidate_logs(path: str | None) -> tuple[int, int]:
    """Evict cached snapshots, of one table or all; return hits and misses before."""
    url = None if path is None else parse_address(path).url
    for log in _open.logs.values():
        if url in (None, log.store.url):
            log.invalidate()
    counts = _open.logs.counts()
    return counts.hits, counts.misses
