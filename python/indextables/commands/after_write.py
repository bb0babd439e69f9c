"""Maintenance that follows a write when the table asks for it: merging, then purging.

The write is committed already, so nothing here may fail it: problems are logged. In the background
there is at most one merge per table, and a few in all.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from indextables.commands.merge_splits import MergeRequest, run_merge
from indextables.commands.purge import run_purge
from indextables.config import maintenance as merge_keys
from indextables.config import write as keys
from indextables.errors import IndexTablesError
from indextables.plan.merge import MergeLimits, plan_merge
from indextables.read.table import open_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.config.settings import Settings
    from indextables.read.table import OpenTable
    from indextables.runtime.context import Context

_log = logging.getLogger("indextables.maintenance")
_running: dict[str, threading.Thread] = {}
_writes: Counter[str] = Counter()
_lock = threading.Lock()


def maintain_after_write(table: OpenTable, context: Context) -> None:
    """Merge and purge as the settings say; returns at once when merging in the background."""
    settings = table.settings
    _writes[table.path] += 1
    if settings.get(keys.MERGE_ON_WRITE) and _is_worth_merging(table):
        work = _guarded(table, lambda: _merge_and_purge(table, context))
        if settings.get(keys.MERGE_ON_WRITE_ASYNC):
            _start(table, work)
        else:
            work()
    every = settings.get(keys.PURGE_AFTER_WRITES)
    if settings.get(keys.PURGE_ON_WRITE) and every and _writes[table.path] % every == 0:
        _guarded(table, lambda: _purge(table))()


def _is_worth_merging(table: OpenTable) -> bool:
    """Whether enough groups have gathered to fill the batches the settings ask for."""
    settings = table.settings
    snapshot = table.log.snapshot()
    limits = MergeLimits(
        settings.get(keys.MERGE_ON_WRITE_TARGET_BYTES),
        settings.get(merge_keys.MERGE_SKIP_THRESHOLD),
        settings.get(merge_keys.MERGE_MAX_SOURCES),
    )
    groups = plan_merge(snapshot.files(), limits, snapshot.skips(table.now_ms()))
    return len(groups) >= _batch_size(settings) * settings.get(keys.MERGE_ON_WRITE_MIN_BATCHES)


def _batch_size(settings: Settings) -> int:
    return max(1, int((os.cpu_count() or 1) * settings.get(keys.MERGE_ON_WRITE_CPU_FRACTION)))


def _merge_and_purge(table: OpenTable, context: Context) -> None:
    target = table.settings.get(keys.MERGE_ON_WRITE_TARGET_BYTES)
    request = MergeRequest(target_bytes=target)
    run_merge(lambda: open_table(table.path, context), request, context)
    if table.settings.get(keys.PURGE_ON_WRITE) and table.settings.get(keys.PURGE_AFTER_MERGE):
        _purge(table)


def _purge(table: OpenTable) -> None:
    run_purge(
        table,
        older_than_hours=table.settings.get(keys.PURGE_SPLIT_RETENTION_HOURS),
        log_hours=table.settings.get(keys.PURGE_LOG_RETENTION_HOURS),
    )


def _guarded(table: OpenTable, work: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        except IndexTablesError as problem:
            _log.warning("maintenance of `%s` after a write: %s", table.path, problem)

    return run


def _start(table: OpenTable, work: Callable[[], None]) -> None:
    most = table.settings.get(keys.MERGE_ON_WRITE_MAX_BATCHES)
    with _lock:
        for path in [path for path, thread in _running.items() if not thread.is_alive()]:
            del _running[path]
        if table.path in _running or len(_running) >= most:
            return
        thread = threading.Thread(target=work, name=f"merge of {table.path}", daemon=True)
        _running[table.path] = thread
    wait_ms = table.settings.get(keys.MERGE_ON_WRITE_SHUTDOWN_MS)
    atexit.register(thread.join, wait_ms / 1000)
    thread.start()


def wait_for_background(seconds: float) -> bool:
    """Wait for merges in the background; whether all have ended."""
    until = time.monotonic() + seconds
    for thread in list(_running.values()):
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in _running.values())
