"""Tables that the planner keeps open between calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.config import cache as cache_keys
from indextables.config import log as log_keys
from indextables.config import read as read_keys
from indextables.config import storage as storage_keys
from indextables.errors import TableNotFoundError
from indextables.log import Log, Snapshot, open_log
from indextables.log.history import parse_timestamp
from indextables.read.companion import open_for_reading
from indextables.read.table import OpenTable
from indextables.runtime.cache import Cache
from indextables.storage import open_store
from indextables.storage.address import parse_address

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.spark.request import Request

_logs: Cache[tuple[object, ...], Log] = Cache(64)


def log_of(request: Request) -> Log:
    """The log of the table of a call, opened once."""
    return log_at(request.path, request.settings)


def log_at(path: str, settings: Settings) -> Log:
    """The log of the table at a path, opened once for the same access and log settings."""
    # values, not their strings: all secrets print the same
    shaping = [
        (option.key, settings.get(option))
        for option in (*storage_keys.OPTIONS, *cache_keys.OPTIONS, *log_keys.OPTIONS)
        if settings.is_set(option)
    ]
    key = (path, *shaping, *sorted(settings.hadoop.items()), *sorted(settings.hdfs.items()))
    return _logs.get_or(key, lambda: open_log(open_store(path, settings), settings))


def invalidate(path: str | None) -> tuple[int, int]:
    """Evict cached logs, of one table or all; return hits and misses before."""
    url = None if path is None else parse_address(path).url
    for log in _logs.values():
        if url in (None, log.store.url):
            log.invalidate()
    counts = _logs.counts()
    return counts.hits, counts.misses


def open_table(request: Request) -> OpenTable:
    """The table of a call, at the requested version; an error if there is none."""
    log = log_of(request)
    snapshot = _snapshot(request, log)
    settings = request.settings_for(snapshot.metadata.configuration)
    past = settings.is_set(read_keys.VERSION_AS_OF) or settings.is_set(read_keys.TIMESTAMP_AS_OF)
    mark = request.body.get("source_mark") or ""
    return open_for_reading(log, snapshot, settings, past=past, mark=mark)


def state_of(table: OpenTable) -> dict[str, Any]:
    """What the other calls of a query need to read the same state."""
    mark = {} if table.companion is None else {"source_mark": table.companion.mark}
    return {"version": table.snapshot.version, **mark}


def find_table(request: Request) -> OpenTable | None:
    """The table of a call, or None if there is none."""
    try:
        return open_table(request)
    except TableNotFoundError:
        return None


def _snapshot(request: Request, log: Log) -> Snapshot:
    pinned = request.body.get("read_version")
    if pinned is not None and pinned >= 0:
        return log.snapshot(pinned)
    version = request.settings.get(read_keys.VERSION_AS_OF)
    if version is not None:
        return log.snapshot(version)
    timestamp = request.settings.get(read_keys.TIMESTAMP_AS_OF)
    if timestamp is not None:
        return log.snapshot(timestamp_ms=parse_timestamp(timestamp))
    return log.snapshot()
