"""MERGE SPLITS: merge small splits into larger ones, with one commit unless there is much to merge.

    plan groups ──> merge them (tasks) ──> commit what is still valid ──> plan again
                                                                          until nothing is left

A group whose sources changed in the meantime (deleted rows, overwritten) is not committed: its
merged split is discarded, and a later command plans again from the latest snapshot. No delete is
lost.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indextables.commands.grammar import (
    TARGET,
    WHERE,
    Clause,
    Command,
    Flag,
    MaybeTarget,
    NumberKind,
    Rule,
    SizeKind,
    columns,
    require,
)
from indextables.commands.lower_protocol import lower_protocol
from indextables.commands.merge_commit import MergedGroup, commit_batch
from indextables.commands.merge_jobs import MergeJob, start_job
from indextables.commands.merge_payload import merge_payload
from indextables.commands.partition_choice import choose_files
from indextables.commands.target import Target, locate, require_short_name
from indextables.config import log as log_keys
from indextables.config import maintenance as keys
from indextables.errors import TableNotFoundError, error
from indextables.log.partitions import split_path
from indextables.log.protocol import is_companion
from indextables.plan.merge import MergeGroup, MergeLimits, plan_merge
from indextables.plan.merge_companion import mergeable
from indextables.read.table import open_table
from indextables.runtime.steps import Steps, run_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from indextables.config.settings import Settings
    from indextables.log import Snapshot
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context

DEFAULT_TARGET_BYTES = 5 << 30
MIN_TARGET_SIZE = 1 << 20
_OUTPUT = columns(
    "table_path string, metrics struct<status string, merged_files bigint, "
    "merge_groups bigint, original_size_bytes bigint, merged_size_bytes bigint, "
    "message string>, temp_directory_path string, heap_size_bytes bigint"
)


@dataclass(frozen=True)
class MergeSplits(Command):
    """Merge small splits into larger ones.

    Splits of the same partition below 45 % of the target size (default 5 GB) are merged, oldest
    first, and the log is compacted. Splits with deleted rows are rewritten without these rows. The
    result is one commit; large merges are committed in batches (`merge.batchSize`). Concurrent
    readers and writers are not affected: splits that change in the meantime are skipped. A split
    that cannot be read stays in the table and is skipped for a day.
    """

    target: Target | None
    where: str | None = None
    target_size: int | None = None
    max_dest_splits: int | None = None
    max_source_splits: int | None = None
    precommit: bool = False

    def __post_init__(self) -> None:
        size, most, sources = self.target_size, self.max_dest_splits, self.max_source_splits
        require(
            size is None or size >= MIN_TARGET_SIZE,
            f"Invalid target size: {size} is less than 1 MB ({MIN_TARGET_SIZE} bytes)",
        )
        require(most is None or most >= 1, f"MAX DEST SPLITS must be positive, got: {most}")
        require(
            sources is None or sources > 1,
            f"MAX SOURCE SPLITS PER MERGE must be at least 2, got: {sources}",
        )
        require(self.target is not None, "MERGE SPLITS requires either a path or table identifier")
        require_short_name(self.target)


@dataclass(frozen=True)
class MergeRequest:
    """The clauses of the command; None means that the settings apply."""

    where: str | None = None
    target_bytes: int | None = None
    max_groups: int | None = None
    max_sources: int | None = None
    precommit: bool = False


@dataclass(frozen=True)
class _Planned:
    """A group and the split it becomes."""

    group: MergeGroup
    output: str


@dataclass
class _Totals:
    batches: int = 0
    successful: int = 0
    failed: int = 0
    generations: int = 0
    groups: int = 0
    files: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    problems: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run_merge(open_table: Callable[[], OpenTable], request: MergeRequest) -> Steps[list[Row]]:
    """Merge until there is nothing left to merge."""
    if request.precommit:
        pending = _metrics("pending", _Totals(), "Functionality pending implementation")
        return [{"table_path": "PRE-COMMIT MERGE", "metrics": pending}]
    table = open_table()
    table.log.check_maintainable()
    if not table.snapshot.num_files:
        return [_row(table, _metrics("no_action", _Totals(), "Table is empty"))]
    job = start_job(table.path)
    try:
        totals = yield from _merge_all(table, request, job)
    except BaseException as failure:
        # also when no client waits for the command any more
        job.end(str(failure) or "stopped")
        raise
    job.end()
    if not totals.batches:
        nothing = _metrics("no_action", totals, "All splits are already optimal size")
        return [_row(table, nothing)]
    lower_protocol(table)
    return [_row(table, _metrics(_status(totals), totals, _message(totals)))]


def _missing_table(failure: TableNotFoundError, *, is_folder: bool = False) -> list[Row]:
    """Return the result if there is no table to merge, but perhaps other files at its location."""
    message = "Not a valid IndexTables4Spark table" if is_folder else "Table or path does not exist"
    metrics = _metrics("error", _Totals(), message)
    return [{"table_path": failure.context.get("path"), "metrics": metrics}]


def _merge_all(table: OpenTable, request: MergeRequest, job: MergeJob) -> Steps[_Totals]:
    limits = _limits(table.settings, request)
    totals = _Totals()
    left_alone: set[str] = set()
    for _ in range(table.settings.get(keys.MERGE_MAX_PASSES)):
        newest = table.log.snapshot()
        files = newest.files()
        if request.where is not None:
            files = yield from choose_files(request.where, newest)
        groups = _plan_pass(table, newest, files, limits, left_alone)
        if not groups:
            break
        totals.generations += 1
        for batches in _batches(groups, table.settings, job):
            for outcome in (yield from _run_batches(table, newest, batches, job)):
                _count(totals, outcome)
                left_alone.update(outcome["left_alone"])
        if request.max_groups is not None:
            break
    if totals.errors and not totals.successful:
        raise error("MERGE_FAILED", path=table.path, problem=totals.errors[0])
    return totals


def _limits(settings: Settings, request: MergeRequest) -> MergeLimits:
    return MergeLimits(
        request.target_bytes or DEFAULT_TARGET_BYTES,
        settings.get(keys.MERGE_SKIP_THRESHOLD),
        request.max_sources or settings.get(keys.MERGE_MAX_SOURCES),
        request.max_groups,
    )


def _plan_pass(
    table: OpenTable, newest: Snapshot, files: pa.Table, limits: MergeLimits, left_alone: set[str]
) -> list[_Planned]:
    """Return the groups of one pass."""
    skipped = {*left_alone}
    if table.settings.get(log_keys.TRACK_SKIPPED):
        skipped |= {*newest.skips(table.now_ms())}
    if is_companion(newest.metadata):
        files = mergeable(files)
    groups = plan_merge(files, limits, skipped)
    columns = newest.partition_columns
    return [
        _Planned(group, split_path(columns, dict(group.partition_values), str(uuid.uuid4())))
        for group in groups
    ]


def _batches(
    groups: Sequence[_Planned], settings: Settings, job: MergeJob
) -> list[list[Sequence[_Planned]]]:
    """Divide the groups of a pass into batches, and the batches into rounds."""
    size = settings.get(keys.MERGE_BATCH_SIZE)
    at_once = settings.get(keys.MERGE_MAX_BATCHES)
    if size is None:
        batches = _large_batches(groups, os.cpu_count() or 1)
    else:
        batches = [groups[start : start + size] for start in range(0, len(groups), size)]
    job.total_groups += len(groups)
    job.total_batches += len(batches)
    return [batches[start : start + at_once] for start in range(0, len(batches), at_once)]


def _large_batches(groups: Sequence[_Planned], cores: int) -> list[Sequence[_Planned]]:
    """Divide groups into batches that are worth a commit: a task per core, and a lot of data."""
    batches: list[Sequence[_Planned]] = []
    start = total = 0
    for end, planned in enumerate(groups, 1):
        total += planned.group.size_bytes
        if end - start >= cores and total >= DEFAULT_TARGET_BYTES:
            batches.append(groups[start:end])
            start, total = end, 0
    return [*batches, groups[start:]] if start < len(groups) else batches


def _run_batches(
    table: OpenTable, read: Snapshot, batches: Sequence[Sequence[_Planned]], job: MergeJob
) -> Steps[list[dict[str, Any]]]:
    """Merge the groups of several batches concurrently, then commit each batch."""
    payloads = [
        merge_payload(table, read, planned.group.paths, planned.output)
        for batch in batches
        for planned in batch
    ]
    results = iter((yield from run_tasks("merge", payloads)))
    outcomes = []
    for batch in batches:
        merged = [
            MergedGroup(
                dict(planned.group.partition_values),
                planned.group.paths,
                planned.output,
                next(results),
            )
            for planned in batch
        ]
        outcomes.append(commit_batch(table, read, merged))
        job.completed_groups += len(batch)
        job.completed_batches += 1
    return outcomes


def _count(totals: _Totals, outcome: Mapping[str, Any]) -> None:
    totals.batches += 1
    totals.groups += outcome["groups"]
    totals.files += outcome["files"]
    totals.bytes_before += outcome["bytes_before"]
    totals.bytes_after += outcome["bytes_after"]
    totals.problems += outcome["problems"]
    totals.errors += outcome["errors"]
    if outcome["groups"]:
        totals.successful += 1
    else:
        totals.failed += 1


def _status(totals: _Totals) -> str:
    return "partial_success" if totals.failed or totals.problems else "success"


def _message(totals: _Totals) -> str:
    text = (
        f"batches: {totals.batches}, successful: {totals.successful}, "
        f"failed: {totals.failed}, merge_generations: {totals.generations}"
    )
    return f"{text}; {totals.problems[0]}" if totals.problems else text


def _metrics(status: str, totals: _Totals, message: str) -> Row:
    return {
        "status": status,
        "merged_files": totals.files,
        "merge_groups": totals.groups,
        "original_size_bytes": totals.bytes_before,
        "merged_size_bytes": totals.bytes_after,
        "message": message,
    }


def _row(table: OpenTable, metrics: Row) -> Row:
    settings = table.settings
    return {
        "table_path": table.path,
        "metrics": metrics,
        "temp_directory_path": settings.get(keys.MERGE_TEMP_DIRECTORY) or tempfile.gettempdir(),
        "heap_size_bytes": settings.get(keys.MERGE_HEAP_BYTES),
    }


def run(command: MergeSplits, context: Context) -> Steps[list[Row]]:
    """Merge the splits of a table; report a missing table as a result."""
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
        return _missing_table(missing)
    try:
        if path:
            open_table(path, context)
    except TableNotFoundError as missing:
        return _missing_table(missing, is_folder=context.log(path).store.is_folder)
    return (yield from run_merge(lambda: open_table(path, context), request))


RULES = (
    Rule(
        MergeSplits,
        "MERGE SPLITS",
        (
            MaybeTarget(),
            WHERE,
            Clause("TARGET SIZE", "target_size", SizeKind()),
            Clause("MAX DEST SPLITS", "max_dest_splits", NumberKind()),
            Clause("MAX SOURCE SPLITS PER MERGE", "max_source_splits", NumberKind()),
            Flag("PRECOMMIT", "precommit"),
        ),
        _OUTPUT,
        run,
    ),
    Rule(MergeSplits, "OPTIMIZE", (TARGET, WHERE), _OUTPUT, run, borrowed=True),
)
