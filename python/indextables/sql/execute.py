"""Command to answer: finds the verb of a command, runs it, gives its rows as an Arrow table."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from indextables.commands import caches, skipping_stats
from indextables.commands.checkpoint import run_checkpoint
from indextables.commands.component_sizes import run_component_sizes
from indextables.commands.describe_detail import run_describe_detail
from indextables.commands.describe_history import run_describe_history
from indextables.commands.describe_state import run_describe_state
from indextables.commands.describe_transaction_log import run_describe_transaction_log
from indextables.commands.drop_partitions import run_drop_partitions
from indextables.commands.environment import run_describe_environment
from indextables.commands.invalidate import run_invalidate
from indextables.commands.merge_jobs import run_describe_merge_jobs
from indextables.commands.merge_splits import MergeRequest, missing_table, run_merge
from indextables.commands.prewarm import (
    PrewarmRequest,
    run_describe_prewarm_jobs,
    run_prewarm,
    run_wait_for_prewarm,
)
from indextables.commands.purge import run_purge
from indextables.commands.repair import run_repair
from indextables.commands.restore import run_restore
from indextables.commands.table_roots import (
    run_describe_table_roots,
    run_set_table_root,
    run_unset_table_root,
)
from indextables.commands.truncate_time_travel import run_truncate
from indextables.errors import IndexTablesError, TableNotFoundError, error
from indextables.log.history import parse_timestamp
from indextables.read.table import OpenTable, Row, open_table
from indextables.runtime.context import Context
from indextables.runtime.steps import LocalDoor, Steps, finish
from indextables.runtime.steps import locate as ask_location
from indextables.sql import cache_commands as cache
from indextables.sql import commands as c
from indextables.sql import companion_commands as companion
from indextables.sql.outputs import output_of
from indextables.sql.parser import parse
from indextables.sql.render import render

if TYPE_CHECKING:
    from indextables.sql.target import Target


def execute(command: c.Command | str, context: LocalDoor) -> pa.Table:
    """Run a command, given as text or as a value, to its end in this process."""
    return finish(start(command, context), context)


def start(command: c.Command | str, context: Context) -> Steps[pa.Table]:
    """Run a command; it yields what it needs of the door."""
    found = parse(command) if isinstance(command, str) else command
    rows = _RUNS[type(found)](found, context)
    if isinstance(rows, Generator):
        rows = yield from rows
    return pa.Table.from_pylist(rows, schema=output_of(found).to_arrow_schema())


def locate(target: Target) -> Steps[str]:
    """The path a target means: itself, what the catalog says, or a text that must be a path."""
    if target.is_path:
        return str(target)
    found = yield from ask_location(target.parts)
    if found is not None:
        return found
    if target.path is not None:
        return target.path
    raise error("TABLE_NOT_FOUND", path=str(target))


def _opened(target: Target, context: Context) -> Steps[OpenTable]:
    path = yield from locate(target)
    return open_table(path, context)


def _merge(command: c.MergeSplits, context: Context) -> Steps[list[Row]]:
    assert command.target is not None
    request = MergeRequest(
        where=command.where,
        target_bytes=command.target_size,
        max_groups=command.max_dest_splits,
        max_sources=command.max_source_splits,
        precommit=command.precommit,
    )
    try:
        path = "" if command.precommit else (yield from locate(command.target))
    except TableNotFoundError as missing:
        return missing_table(missing)
    return (yield from run_merge(lambda: open_table(path, context), request))


def _purge(command: c.Purge, context: Context) -> Steps[list[Row]]:
    return run_purge(
        (yield from _opened(command.target, context)),
        older_than_hours=command.older_than.hours if command.older_than else None,
        log_hours=command.log_retention.hours if command.log_retention else None,
        dry_run=command.dry_run,
    )


def _drop_partitions(command: c.DropPartitions, context: Context) -> Steps[list[Row]]:
    table = yield from _opened(command.target, context)
    return (yield from run_drop_partitions(table, command.where))


def _checkpoint(command: c.Checkpoint | c.Compact, context: Context) -> Steps[list[Row]]:
    try:
        table = yield from _opened(command.target, context)
        return run_checkpoint(table, compact=isinstance(command, c.Compact))
    except IndexTablesError as problem:
        return [_failed(command.target, f"ERROR: {problem.message}") | {"is_multi_part": False}]


def _truncate(command: c.TruncateTimeTravel, context: Context) -> Steps[list[Row]]:
    try:
        table = yield from _opened(command.target, context)
        return run_truncate(table, dry_run=command.dry_run)
    except IndexTablesError as problem:
        return [_failed(command.target, "ERROR") | {"message": problem.message}]


def _state(command: c.DescribeState, context: Context) -> Steps[list[Row]]:
    path = yield from locate(command.target)
    try:
        return run_describe_state(open_table(path, context))
    except TableNotFoundError:
        raise
    except IndexTablesError as problem:
        return [_failed(command.target, f"ERROR: {problem.message}") | {"format": "error"}]


def _failed(target: Target, status: str) -> Row:
    return {"table_path": str(target), "status": status}


def _restore(command: c.Restore, context: Context) -> Steps[list[Row]]:
    moment = None if command.timestamp is None else parse_timestamp(command.timestamp)
    return run_restore((yield from _opened(command.target, context)), command.version, moment)


def _invalidate(command: c.InvalidateLogCache, context: Context) -> Steps[list[Row]]:
    path = None if command.target is None else (yield from locate(command.target))
    return run_invalidate(path, context)


def _wait(command: cache.WaitForPrewarmJobs, context: Context) -> Steps[list[Row]]:
    path = None if command.target is None else (yield from locate(command.target))
    if path is not None:
        path = context.log(path).store.url
    return (yield from run_wait_for_prewarm(command.job, path, command.timeout, context))


def _prewarm(command: cache.PrewarmCache, context: Context) -> Steps[list[Row]]:
    request = PrewarmRequest(
        segments=command.segments,
        fields=command.fields,
        parallelism=command.parallelism,
        where=command.where,
        asynchronous=command.asynchronous,
    )
    table = yield from _opened(command.target, context)
    return (yield from run_prewarm(table, request, context))


def _unsupported(command: c.Command, _: Context) -> list[Row]:
    raise error("COMMAND_UNSUPPORTED", command=render(command))


_Run: TypeAlias = Callable[[Any, Context], list[Row] | Steps[list[Row]]]


def _on_table(run: Callable[[OpenTable, Any], list[Row] | Steps[list[Row]]]) -> _Run:
    def opened(command: Any, context: Context) -> Steps[list[Row]]:
        rows = run((yield from _opened(command.target, context)), command)
        return (yield from rows) if isinstance(rows, Generator) else rows

    return opened


def _always(run: Callable[[], list[Row]]) -> _Run:
    return lambda _command, _context: run()


def _anywhere(run: Callable[[Context], list[Row] | Steps[list[Row]]]) -> _Run:
    return lambda _command, context: run(context)


_RUNS: dict[type[c.Command], _Run] = {
    c.MergeSplits: _merge,
    c.Purge: _purge,
    c.DropPartitions: _drop_partitions,
    c.Repair: lambda command, context: run_repair(command.source, command.destination, context),
    c.InvalidateLogCache: _invalidate,
    c.DescribeTransactionLog: _on_table(
        lambda table, command: run_describe_transaction_log(table, include_all=command.include_all)
    ),
    c.DescribeEnvironment: lambda _, context: run_describe_environment(context),
    c.DescribeState: _state,
    c.DescribeComponentSizes: _on_table(
        lambda table, command: run_component_sizes(table, command.where)
    ),
    c.DescribeHistory: _on_table(lambda table, command: run_describe_history(table, command.limit)),
    c.DescribeDetail: _on_table(lambda table, _: run_describe_detail(table)),
    c.DescribeMergeJobs: _always(run_describe_merge_jobs),
    c.Checkpoint: _checkpoint,
    c.Compact: _checkpoint,
    c.TruncateTimeTravel: _truncate,
    c.Restore: _restore,
    cache.FlushSearcherCache: _anywhere(caches.run_flush_searcher_cache),
    cache.FlushDiskCache: _anywhere(caches.run_flush_disk_cache),
    cache.FlushDataSkippingStats: _always(skipping_stats.run_reset_skipping_stats),
    cache.InvalidateDataSkippingCache: _always(skipping_stats.run_reset_skipping_stats),
    cache.DescribeDiskCache: _anywhere(caches.run_describe_disk_cache),
    cache.DescribeStorageStats: _anywhere(caches.run_describe_storage_stats),
    cache.DescribeDataSkippingStats: _always(skipping_stats.run_describe_skipping_stats),
    cache.PrewarmCache: _prewarm,
    cache.DescribePrewarmJobs: _anywhere(run_describe_prewarm_jobs),
    cache.WaitForPrewarmJobs: _wait,
    cache.EnableProfiler: lambda _, context: caches.run_switch_profiler(context, on=True),
    cache.DisableProfiler: lambda _, context: caches.run_switch_profiler(context, on=False),
    cache.DescribeProfiler: _anywhere(caches.run_describe_profiler),
    cache.ResetProfiler: lambda _, context: caches.run_describe_profiler(context, reset=True),
    cache.DescribeProfilerCache: _anywhere(caches.run_describe_profiler_cache),
    cache.ResetProfilerCache: lambda _, context: caches.run_describe_profiler_cache(
        context, reset=True
    ),
    companion.BuildCompanion: _unsupported,
    companion.SetTableRoot: _on_table(
        lambda table, command: run_set_table_root(table, command.name, command.path)
    ),
    companion.UnsetTableRoot: _on_table(
        lambda table, command: run_unset_table_root(table, command.name)
    ),
    companion.DescribeTableRoots: _on_table(lambda table, _: run_describe_table_roots(table)),
}
