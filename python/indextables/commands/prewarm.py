"""PREWARM: load index parts ahead of queries, each split on its preferred host."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.commands.grammar import (
    DESCRIBE,
    TARGET,
    WHERE,
    Clause,
    Command,
    Flag,
    ListKind,
    MaybeTarget,
    NumberKind,
    Rule,
    TextKind,
    columns,
    require,
)
from indextables.commands.hosts import DRIVER, ask_every_host, executor_hosts
from indextables.commands.partition_choice import choose_files
from indextables.commands.prewarm_notes import Note, note_prewarm
from indextables.commands.target import Target, locate, open_target
from indextables.config import cache as keys
from indextables.log.protocol import is_companion, is_foreign
from indextables.model.types import Struct, render_schema
from indextables.plan.prewarm import SEGMENTS, Parts, assign_hosts, cut, plan_parts
from indextables.read.companion import as_indexed
from indextables.runtime.steps import Steps, run_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context, Executor

_DEFAULT_PARALLELISM = 2
_DEFAULT_TIMEOUT = 3600


@dataclass(frozen=True)
class PrewarmCache(Command):
    """Load index parts into the caches ahead of queries."""

    target: Target
    segments: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    parallelism: int | None = None
    where: str | None = None
    asynchronous: bool = False

    def __post_init__(self) -> None:
        count = self.parallelism
        require(count is None or count > 0, f"PARALLELISM must be positive, got: {count}")
        for segment in self.segments:
            require(
                segment.upper() in SEGMENTS,
                f"unknown segment `{segment}`; known are {', '.join(sorted(SEGMENTS))}",
            )


@dataclass(frozen=True)
class DescribePrewarmJobs(Command):
    """Show background prewarm jobs."""


@dataclass(frozen=True)
class WaitForPrewarmJobs(Command):
    """Wait until background prewarm jobs have finished."""

    target: Target | None = None
    job: str | None = None
    timeout: int | None = None

    def __post_init__(self) -> None:
        seconds = self.timeout
        require(seconds is None or seconds > 0, f"TIMEOUT must be positive, got: {seconds}")


@dataclass(frozen=True)
class _Home:
    """A host and the splits it should cache."""

    executor: Executor
    splits: list[dict[str, Any]]


def run(request: PrewarmCache, context: Context) -> Steps[list[Row]]:
    """Load the splits of the selected partitions; return one row per host."""
    table = yield from open_target(request.target, context)
    parts = plan_parts(
        request.segments or table.settings.get(keys.PREWARM_SEGMENTS),
        request.fields or table.settings.get(keys.PREWARM_FIELDS),
        [field.name for field in table.snapshot.schema.fields],
        fail_on_missing=table.settings.get(keys.PREWARM_FAIL_ON_MISSING),
    )
    where = request.where or table.settings.get(keys.PREWARM_PARTITION_FILTER)
    homes = _homes((yield from _splits(table, where)), context)
    if table.settings.get(keys.PREWARM_CATCH_UP):
        note_prewarm(table.path, Note(parts.segments, parts.fields, where))
    common = {
        "url": table.store.native()[0],
        "store_options": table.store.native()[1],
        "segments": list(parts.in_splits),
        "fields": list(parts.fields),
        "parallelism": request.parallelism or _DEFAULT_PARALLELISM,
        "source": _source(table, parts),
    }
    if request.asynchronous:
        return (yield from _start_jobs(table, homes, parts, common, context))
    return (yield from _load(table, homes, parts, common))


def _source(table: OpenTable, parts: Parts) -> dict[str, Any] | None:
    """The columns to load from the source files of a companion, and where these are."""
    snapshot = table.snapshot
    metadata = snapshot.metadata
    if not is_companion(metadata) or is_foreign(snapshot.protocol, metadata):
        return None
    companion = as_indexed(snapshot, table.settings)
    wanted = parts.in_source(companion.fields)
    if not wanted:
        return None
    chosen = Struct(tuple(f for f in snapshot.schema.fields if f.name in wanted))
    return {"spec": companion.source.to_json(), "schema": render_schema(chosen)}


def _splits(table: OpenTable, where: str) -> Steps[list[dict[str, Any]]]:
    files = table.snapshot.files()
    if where:
        files = yield from choose_files(where, table.snapshot)
    wanted = files.select(["path", "footerStartOffset", "footerEndOffset"]).to_pylist()
    return [
        {"path": path, "footer": None if start is None or end is None else [start, end]}
        for path, start, end in (row.values() for row in wanted)
    ]


def _homes(splits: Sequence[dict[str, Any]], context: Context) -> list[_Home]:
    hosts = executor_hosts(context) or context.executors()
    by_host = {executor.host: executor for executor in hosts}
    homes = assign_hosts([split["path"] for split in splits], list(by_host))
    return [
        _Home(executor, [splits[i] for i in homes.get(host, [])])
        for host, executor in by_host.items()
    ]


def _load(
    table: OpenTable,
    homes: Sequence[_Home],
    parts: Parts,
    common: dict[str, Any],
) -> Steps[list[Row]]:
    started = time.time()
    size = max(common["parallelism"], table.settings.get(keys.PREWARM_SPLITS_PER_TASK))
    waiting = [(home, group) for home in homes for group in cut(home.splits, size)]
    results: dict[str, list[tuple[str, dict[str, Any]]]] = {
        home.executor.host: [] for home in homes
    }
    retries = 0
    while waiting:
        payloads = [common | {"splits": group} for _, group in waiting]
        places = [home.executor.location for home, _ in waiting]
        done = yield from run_tasks("prewarm", payloads, places)
        last = retries >= table.settings.get(keys.PREWARM_MAX_RETRIES)
        again = []
        for (home, group), answer in zip(waiting, done, strict=True):
            failed = {s["path"] for s in answer["splits"] if "error" in s and not s["lasting"]}
            final = [s for s in answer["splits"] if last or s["path"] not in failed]
            results[home.executor.host] += [(answer["host"], split) for split in final]
            rest = [split for split in group if split["path"] in failed]
            if rest and not last:
                again.append((home, rest))
        waiting = again
        retries += bool(again)
    elapsed = int((time.time() - started) * 1000)
    return [_row(home, parts, elapsed, results[home.executor.host], retries) for home in homes]


def _row(
    home: _Home,
    parts: Parts,
    elapsed: int,
    results: Sequence[tuple[str, dict[str, Any]]],
    retries: int,
) -> Row:
    failed = [split for _, split in results if "error" in split]
    done = [host for host, split in results if "error" not in split]
    # in local mode the driver's host name differs from the executors'
    at_home = len(done) if home.executor.id == DRIVER else done.count(home.executor.host)
    if not results:
        status = "no_splits"
    elif not failed:
        status = "success"
    else:
        status = "partial" if done else f"error: {failed[0]['error']}"
    return _head(home, parts) | {
        "locality_hits": at_home,
        "locality_misses": len(done) - at_home,
        "splits_prewarmed": len(done),
        "duration_ms": elapsed,
        "status": status,
        "retries": retries,
        "failed_splits_by_host": f"{home.executor.host}: {len(failed)}" if failed else None,
        "async_mode": False,
    }


def _head(home: _Home, parts: Parts) -> Row:
    return {
        "host": home.executor.host,
        "assigned_host": home.executor.host,
        "segments": ",".join(parts.segments),
        "fields": ",".join(parts.fields) or "all",
        "skipped_fields": ",".join(parts.skipped) or None,
    }


def _start_jobs(
    table: OpenTable,
    homes: Sequence[_Home],
    parts: Parts,
    common: dict[str, Any],
    context: Context,
) -> Steps[list[Row]]:
    job_id = str(uuid.uuid4())
    payloads = [
        _about(context)
        | {
            "job_id": job_id,
            "table_path": table.path,
            "max_concurrent": table.settings.get(keys.PREWARM_MAX_CONCURRENT),
            "work": common | {"splits": home.splits},
        }
        for home in homes
    ]
    places = [home.executor.location for home in homes]
    started = yield from run_tasks("start_prewarm", payloads, places)
    return [
        _head(home, parts)
        | {
            "locality_hits": 0,
            "locality_misses": 0,
            "splits_prewarmed": 0,
            "duration_ms": 0,
            "status": answer["status"],
            "retries": 0,
            "job_id": job_id if answer["status"] == "job_started" else None,
            "async_mode": True,
        }
        for home, answer in zip(homes, started, strict=True)
    ]


def _about(context: Context) -> dict[str, Any]:
    retention = context.settings({}).get(keys.PREWARM_JOB_RETENTION_MS)
    return {"app": context.app(), "retention_ms": retention}


def run_describe_prewarm_jobs(context: Context) -> Steps[list[Row]]:
    """Return the background jobs of every host."""
    answers = yield from ask_every_host(context, "prewarm_jobs", _about(context))
    return [
        _job(answer.executor_id, answer.host, job)
        | {
            "completed_splits": job["completed_splits"],
            "progress_pct": 100.0 * job["completed_splits"] / max(job["total_splits"], 1),
        }
        for answer in answers
        for job in answer.result["jobs"]
    ]


def run_wait(command: WaitForPrewarmJobs, context: Context) -> Steps[list[Row]]:
    """Wait for background jobs: one, those of a table, or all."""
    path = None
    if command.target is not None:
        path = context.log((yield from locate(command.target))).store.url
    job_id, timeout = command.job, command.timeout or _DEFAULT_TIMEOUT
    wanted = {"job_id": job_id, "table_path": path, "timeout": timeout}
    answers = yield from ask_every_host(context, "wait_prewarm", _about(context) | wanted)
    found = [
        _job(answer.executor_id, answer.host, job)
        | {
            "status": "TIMEOUT (was: RUNNING)" if job["status"] == "RUNNING" else job["status"],
            "splits_prewarmed": job["completed_splits"] - job["failed_splits"],
        }
        for answer in answers
        for job in answer.result["jobs"]
    ]
    if found or (job_id is None and path is None):
        return found
    missing = {"executor_id": DRIVER, "job_id": job_id, "table_path": path, "status": "not_found"}
    return [missing | {"total_splits": 0, "splits_prewarmed": 0, "duration_ms": 0}]


def _job(executor_id: str, host: str, job: dict[str, Any]) -> Row:
    until = job["ended_ms"] or int(time.time() * 1000)
    return {
        "executor_id": executor_id,
        "host": host,
        "job_id": job["job_id"],
        "table_path": job["table_path"],
        "status": job["status"],
        "total_splits": job["total_splits"],
        "duration_ms": until - job["started_ms"],
        "error_message": job["error_message"],
    }


RULES = (
    Rule(
        PrewarmCache,
        "PREWARM IX CACHE",
        (
            TARGET,
            Clause("FOR SEGMENTS", "segments", ListKind(names=True)),
            Clause("ON FIELDS", "fields", ListKind(names=True)),
            Clause("WITH PERWORKER PARALLELISM OF", "parallelism", NumberKind()),
            WHERE,
            Flag("ASYNC MODE", "asynchronous"),
        ),
        columns(
            "host string, assigned_host string, locality_hits int, locality_misses int, "
            "splits_prewarmed int, segments string, fields string, duration_ms bigint, "
            "status string, skipped_fields string, retries int, failed_splits_by_host string, "
            "job_id string, async_mode boolean"
        ),
        run,
    ),
    Rule(
        DescribePrewarmJobs,
        f"{DESCRIBE} PREWARM JOBS",
        (),
        columns(
            "executor_id string, host string, job_id string, table_path string, status string, "
            "total_splits int, completed_splits int, progress_pct double, duration_ms bigint, "
            "error_message string"
        ),
        lambda _, context: run_describe_prewarm_jobs(context),
    ),
    Rule(
        WaitForPrewarmJobs,
        "WAIT FOR IX PREWARM JOBS",
        (
            MaybeTarget(),
            Clause("JOB", "job", TextKind()),
            Clause("TIMEOUT", "timeout", NumberKind()),
        ),
        columns(
            "executor_id string, host string, job_id string, table_path string, status string, "
            "total_splits int, splits_prewarmed int, duration_ms bigint, error_message string"
        ),
        run_wait,
    ),
)
