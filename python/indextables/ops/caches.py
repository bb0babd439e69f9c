"""Cache, prewarm and profiler commands, answered for what there is: nothing is pretended."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indextables.ops.context import Context
    from indextables.ops.opened import Row

_NO_DISK_CACHE = "no disk cache is configured"
_NOT_BOUND = "splits are not bound to hosts"
_NO_PREWARM = "prewarming is not available in this version"
_NO_PROFILER = "the engine has no profiler in this version"


def run_flush_searcher_cache(context: Context) -> list[Row]:
    """Forget open tables; there are no other caches in memory."""
    held, _ = context.invalidate(None)
    found = {
        "split_cache": (held, "open tables forgotten"),
        "locality_manager": (0, _NOT_BOUND),
        "tantivy_java_cache": (0, "there is no such cache here"),
    }
    return [
        {"cache_type": name, "status": "success", "cleared_entries": count, "message": message}
        for name, (count, message) in found.items()
    ]


def run_flush_disk_cache() -> list[Row]:
    """Say for each cache why nothing was deleted."""
    found = {
        "split_cache": _NO_DISK_CACHE,
        "locality_manager": _NOT_BOUND,
        "disk_cache_files": _NO_DISK_CACHE,
    }
    return [
        {
            "executor_id": "driver",
            "cache_type": name,
            "status": "skipped",
            "bytes_freed": 0,
            "files_deleted": 0,
            "message": message,
        }
        for name, message in found.items()
    ]


def run_describe_disk_cache() -> list[Row]:
    """The driver's disk cache, which is off."""
    return [{"executor_id": "driver", "host": socket.gethostname(), "enabled": False}]


def run_describe_storage_stats(context: Context) -> list[Row]:
    """What this process has asked of stores for its logs."""
    stores = [log.store for log in context.logs()]
    return [
        {
            "executor_id": "driver",
            "host": socket.gethostname(),
            "bytes_fetched": sum(store.counters.bytes_read for store in stores),
            "requests": sum(sum(store.counters.requests.values()) for store in stores),
        }
    ]


def run_prewarm(segments: tuple[str, ...], fields: tuple[str, ...], *, later: bool) -> list[Row]:
    """Say that nothing was loaded."""
    return [
        {
            "host": socket.gethostname(),
            "locality_hits": 0,
            "locality_misses": 0,
            "splits_prewarmed": 0,
            "segments": ",".join(segments) or "TERM,POSTINGS",
            "fields": ",".join(fields) or "all",
            "duration_ms": 0,
            "status": "rejected" if later else f"error: {_NO_PREWARM}",
            "retries": 0,
            "async_mode": later,
        }
    ]


def run_wait_for_prewarm(job: str | None, path: str | None) -> list[Row]:
    """There are no jobs: one that is asked for by name was not found."""
    if job is None and path is None:
        return []
    return [
        {
            "executor_id": "driver",
            "host": socket.gethostname(),
            "job_id": job,
            "table_path": path,
            "status": "not_found",
            "total_splits": 0,
            "splits_prewarmed": 0,
            "duration_ms": 0,
            "error_message": _NO_PREWARM,
        }
    ]


def run_switch_profiler() -> list[Row]:
    """Say that there is nothing to switch."""
    return [{"status": "failed", "host_count": 0, "message": _NO_PROFILER}]
