"""FLUSH and DESCRIBE of the caches, DESCRIBE STORAGE STATS."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from indextables.commands.grammar import DESCRIBE, Command, Rule, columns
from indextables.commands.hosts import DRIVER, Answer, ask_every_host
from indextables.commands.machine_stats import machine_stats
from indextables.commands.prewarm_notes import forget_prewarms
from indextables.engine.cache import clear_disk, disk_usage
from indextables.runtime import handles
from indextables.runtime.process_stats import ProcessStats
from indextables.runtime.steps import Steps
from indextables.storage.caching import cache_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.read.table import Row
    from indextables.runtime.context import Context

_COMPUTED = "the preferred executor of a split is computed, so there is nothing to flush"
_OFF = "no disk cache is configured"


@dataclass(frozen=True)
class FlushSearcherCache(Command):
    """Clear split data cached in memory."""


@dataclass(frozen=True)
class FlushDiskCache(Command):
    """Clear split data cached on local disk."""


@dataclass(frozen=True)
class DescribeDiskCache(Command):
    """Show the disk caches."""


@dataclass(frozen=True)
class DescribeStorageStats(Command):
    """Show how much was fetched from object stores."""


def run_flush_searcher_cache(context: Context) -> list[Row]:
    """Clear the caches in memory: here at once, in other processes with their next task."""
    held, _ = context.invalidate(None)
    splits, pieces = handles.flush_everywhere(context.app())
    found = {
        "split_cache": (pieces, f"{splits} open splits closed, {held} cached table logs dropped"),
        "locality_manager": (0, _COMPUTED),
        "tantivy_java_cache": (splits, "open splits"),
    }
    return [
        {"cache_type": name, "status": "success", "cleared_entries": count, "message": message}
        for name, (count, message) in found.items()
    ]


def run_flush_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Delete the disk cache of this host, and drop what was read from it."""
    handles.flush()
    cleared = clear_disk(payload["options"])
    return {} if cleared is None else {"bytes": cleared[0], "files": cleared[1]}


def run_usage_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the disk cache of this host."""
    usage = disk_usage(payload["options"])
    return {} if usage is None else asdict(usage)


def run_flush_disk_cache(context: Context) -> Steps[list[Row]]:
    """Delete the disk cache of every host."""
    forget_prewarms()
    here, *others = yield from ask_every_host(context, "flush_disk_cache", _options(context))
    status = "success" if here.result else "skipped"
    rows = [
        _flushed(DRIVER, "split_cache", "success", "open splits closed, memory cache cleared"),
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
    """Describe the disk cache of every host."""
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
    """Return the object-store requests of every host, for splits and for logs."""
    rows = []
    for answer in (yield from machine_stats(context)):
        stats = ProcessStats.from_json(answer.result)
        rows.append(
            {
                "executor_id": answer.executor_id,
                "host": answer.host,
                "bytes_fetched": stats.bytes,
                "requests": stats.requests,
            }
        )
    return rows


def _options(context: Context) -> dict[str, Any]:
    return {"options": cache_options(context.settings({}))}


RULES = (
    Rule(
        FlushSearcherCache,
        "FLUSH IX SEARCHER CACHE",
        (),
        columns("cache_type string, status string, cleared_entries bigint, message string"),
        lambda _, context: run_flush_searcher_cache(context),
    ),
    Rule(
        FlushDiskCache,
        "FLUSH IX DISK CACHE",
        (),
        columns(
            "executor_id string, cache_type string, status string, bytes_freed bigint, "
            "files_deleted bigint, message string"
        ),
        lambda _, context: run_flush_disk_cache(context),
    ),
    Rule(
        DescribeDiskCache,
        f"{DESCRIBE} DISK CACHE",
        (),
        columns(
            "executor_id string, host string, enabled boolean, total_bytes bigint, "
            "max_bytes bigint, usage_percent double, splits_cached bigint, components_cached bigint"
        ),
        lambda _, context: run_describe_disk_cache(context),
    ),
    Rule(
        DescribeStorageStats,
        f"{DESCRIBE} STORAGE STATS",
        (),
        columns("executor_id string, host string, bytes_fetched bigint, requests bigint"),
        lambda _, context: run_describe_storage_stats(context),
    ),
)
