"""FLUSH and DESCRIBE of the caches, DESCRIBE STORAGE STATS and the profiler."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from indextables.commands.prewarm_notes import forget_prewarms
from indextables.engine.cache import clear_disk, disk_usage
from indextables.runtime import handles
from indextables.runtime.hosts import DRIVER, Answer, ask_every_host
from indextables.runtime.process_stats import ProcessStats, total
from indextables.runtime.steps import Steps
from indextables.storage.caching import cache_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.read.table import Row
    from indextables.runtime.context import Context

_COMPUTED = "the home of a split is computed, there is nothing to forget"
_OFF = "no disk cache is configured"


def run_flush_searcher_cache(context: Context) -> list[Row]:
    """Forget what is kept in memory: here at once, in other processes with their next task."""
    held, _ = context.invalidate(None)
    splits, pieces = handles.flush_everywhere(context.app())
    found = {
        "split_cache": (pieces, f"{splits} open splits closed, {held} table logs looked up anew"),
        "locality_manager": (0, _COMPUTED),
        "tantivy_java_cache": (splits, "open splits"),
    }
    return [
        {"cache_type": name, "status": "success", "cleared_entries": count, "message": message}
        for name, (count, message) in found.items()
    ]


def run_flush_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Delete the disk cache of this machine, and forget what was read from it."""
    handles.flush()
    cleared = clear_disk(payload["options"])
    return {} if cleared is None else {"bytes": cleared[0], "files": cleared[1]}


def run_usage_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The disk cache of this machine."""
    usage = disk_usage(payload["options"])
    return {} if usage is None else asdict(usage)


def run_flush_disk_cache(context: Context) -> Steps[list[Row]]:
    """Delete the disk cache of every machine."""
    forget_prewarms()
    here, *others = yield from ask_every_host(context, "flush_disk_cache", _options(context))
    status = "success" if here.result else "skipped"
    rows = [
        _flushed(DRIVER, "split_cache", "success", "open splits closed, memory forgotten"),
        _flushed(DRIVER, "locality_manager", "skipped", _COMPUTED),
        _flushed(DRIVER, "disk_cache_files", status, _OFF if not here.result else "", here.result),
    ]
    for number, answer in enumerate(others):
        status = "success" if answer.result else "skipped"
        message = answer.host if answer.result else _OFF
        name = f"executor-{number}"
        rows.append(_flushed(name, "disk_cache", status, message, answer.result))
    return rows


def _flushed(
    executor: str, cache: str, status: str, message: str, found: Mapping[str, int] | None = None
) -> Row:
    freed = found or {}
    return {
        "executor_id": executor,
        "cache_type": cache,
        "status": status,
        "bytes_freed": freed.get("bytes", 0),
        "files_deleted": freed.get("files", 0),
        "message": message,
    }


def run_describe_disk_cache(context: Context) -> Steps[list[Row]]:
    """The disk cache of every machine."""
    answers = yield from ask_every_host(context, "disk_cache", _options(context))
    return [_usage(each) for each in answers]


def _usage(answer: Answer) -> Row:
    row: Row = {"executor_id": answer.executor_id, "host": answer.host, "enabled": False}
    usage = answer.result
    if not usage:
        return row
    most = usage["max_bytes"]
    return row | {
        "enabled": True,
        "total_bytes": usage["bytes"],
        "max_bytes": most,
        "usage_percent": 100.0 * usage["bytes"] / most if most else 0.0,
        "splits_cached": usage["splits"],
        "components_cached": usage["pieces"],
    }


def run_describe_storage_stats(context: Context) -> Steps[list[Row]]:
    """What every machine has asked of stores; the driver also reads the logs."""
    stores = [log.store for log in context.logs()]
    rows = []
    for answer in (yield from _stats(context)):
        stats = ProcessStats.from_json(answer.result)
        logs = stores if answer.executor_id == DRIVER else []
        rows.append(
            {
                "executor_id": answer.executor_id,
                "host": answer.host,
                "bytes_fetched": stats.bytes + sum(s.counters.bytes_read for s in logs),
                "requests": stats.requests + sum(sum(s.counters.requests.values()) for s in logs),
            }
        )
    return rows


def run_switch_profiler(context: Context, *, on: bool) -> Steps[list[Row]]:
    """Start or stop to measure: here at once, in other processes with their next task."""
    handles.profile_everywhere(context.app(), on=on)
    hosts = len((yield from _stats(context)))
    message = "the engine is measured" if on else "the engine is measured no longer"
    return [{"status": "enabled" if on else "disabled", "host_count": hosts, "message": message}]


def run_describe_profiler(context: Context, *, reset: bool = False) -> Steps[list[Row]]:
    """What was measured on all machines, most time first."""
    answers = yield from _stats(context, "sections" if reset else None)
    measured = total(ProcessStats.from_json(each.result) for each in answers)
    return [
        {
            "section": m.section,
            "category": m.category,
            "calls": m.calls,
            "total_ms": m.total_ns / 1e6,
            "avg_us": m.total_ns / 1e3 / m.calls,
            "min_us": m.min_ns / 1e3,
            "max_us": m.max_ns / 1e3,
        }
        for m in sorted(measured.sections, key=lambda m: -m.total_ns)
    ]


def run_describe_profiler_cache(context: Context, *, reset: bool = False) -> Steps[list[Row]]:
    """Hits and misses of the caches on all machines."""
    answers = yield from _stats(context, "caches" if reset else None)
    found = total(ProcessStats.from_json(each.result) for each in answers).cache
    counts = {
        "split_handles": handles.counts(reset=reset),
        "memory": (found.memory_hits, found.memory_misses),
        "disk": (found.disk_hits, found.disk_misses),
    }
    return [
        {
            "cache": name,
            "hits": hits,
            "misses": misses,
            "hit_rate": hits / (hits + misses) if hits + misses else None,
        }
        for name, (hits, misses) in counts.items()
    ]


def _options(context: Context) -> dict[str, Any]:
    return {"options": cache_options(context.settings({}))}


def _stats(context: Context, reset: str | None = None) -> Steps[list[Answer]]:
    payload = {
        "app": context.app(),
        "reset": reset,
        "profiled": handles.orders(context.app()).profiled,
    }
    # the process that is asked adds its own; a worker on another machine has done so after its task
    return (yield from ask_every_host(context, "stats", payload | {"own": True}))
