"""Maintenance after a write, if the table enables it: merging, then purging.

The write is already committed, so nothing here may fail it: problems are logged. In the background
there is at most one merge per table, and a small number in total.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.merge_splits import MergeRequest, run_merge
from indextables.commands.purge import run_purge
from indextables.config import maintenance as merge_keys
from indextables.config import write as keys
from indextables.errors import IndexTablesError
from indextables.plan.merge import MergeLimits, plan_merge
from indextables.read.table import open_table
from indextables.runtime.context import Context
from indextables.runtime.steps import LocalDoor, Steps, finish

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.read.table import OpenTable

_log = logging.getLogger("indextables.maintenance")
_merging: set[str] = set()
_writes: Counter[str] = Counter()
_lock = threading.Lock()


@dataclass(frozen=True)
class Maintenance:
    """The maintenance to do after a write; with `background`, the write does not wait for it."""

    steps: Steps[None]
    background: bool


def plan_maintenance(table: OpenTable, context: Context) -> Maintenance | None:
    """Return the maintenance that the settings request after this write, or None."""
    settings = table.settings
    with _lock:
        _writes[table.path] += 1
        writes = _writes[table.path]
    every = settings.get(keys.PURGE_AFTER_WRITES) or 1
    purges = settings.get(keys.PURGE_ON_WRITE) and writes % every == 0
    merges = settings.get(keys.MERGE_ON_WRITE) and _is_worth_merging(table) and _begin_merge(table)
    if not merges and not purges:
        return None
    background = merges and settings.get(keys.MERGE_ON_WRITE_ASYNC)
    return Maintenance(_maintain(table, context, merges=merges, purges=purges), background)


def _maintain(table: OpenTable, context: Context, *, merges: bool, purges: bool) -> Steps[None]:
    try:
        if merges:
            yield from _merge_and_purge(table, context)
        if purges:
            yield from _purge(table)
    except IndexTablesError as problem:
        _log.warning("maintenance of `%s` after a write: %s", table.path, problem)
    finally:
        with _lock:
            _merging.discard(table.path)


def _begin_merge(table: OpenTable) -> bool:
    """Whether this write may merge: at most one merge per table, and a small number in total."""
    with _lock:
        if table.path in _merging or len(_merging) >= table.settings.get(
            keys.MERGE_ON_WRITE_MAX_BATCHES
        ):
            return False
        _merging.add(table.path)
        return True


def maintain_after_write(table: OpenTable, context: LocalDoor) -> None:
    """Merge and purge in this process; return at once if it happens in the background."""
    planned = plan_maintenance(table, context)
    if planned is None:
        return
    if not planned.background:
        finish(planned.steps, context)
        return
    thread = threading.Thread(
        target=finish, args=(planned.steps, context), name=f"merge of {table.path}", daemon=True
    )
    wait_ms = table.settings.get(keys.MERGE_ON_WRITE_SHUTDOWN_MS)
    atexit.register(thread.join, wait_ms / 1000)
    thread.start()


def _is_worth_merging(table: OpenTable) -> bool:
    """Whether there are enough groups to fill the configured number of batches."""
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


def _merge_and_purge(table: OpenTable, context: Context) -> Steps[None]:
    target = table.settings.get(keys.MERGE_ON_WRITE_TARGET_BYTES)
    request = MergeRequest(target_bytes=target)
    yield from run_merge(lambda: open_table(table.path, context), request)
    if table.settings.get(keys.PURGE_ON_WRITE) and table.settings.get(keys.PURGE_AFTER_MERGE):
        yield from _purge(table)


def _purge(table: OpenTable) -> Steps[None]:
    yield from run_purge(
        table,
        older_than_hours=table.settings.get(keys.PURGE_SPLIT_RETENTION_HOURS),
        log_hours=table.settings.get(keys.PURGE_LOG_RETENTION_HOURS),
    )
