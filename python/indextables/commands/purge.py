"""PURGE: delete files that no version refers to.

Old files of the log are deleted before the data they refer to: a crash in between leaves orphans,
never a version that refers to a deleted file.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indextables.commands.delete_task import delete_files
from indextables.commands.grammar import (
    TARGET,
    Clause,
    Command,
    Flag,
    Rule,
    Span,
    SpanKind,
    columns,
)
from indextables.commands.purge_plan import plan_purge_by_tasks, without_new_references
from indextables.commands.target import Target, open_target
from indextables.config import maintenance as keys
from indextables.errors import error
from indextables.log.retention import Policy
from indextables.plan.orphans import HOUR_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.commands.purge_plan import PurgePlan
    from indextables.config.settings import Settings
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps

_log = logging.getLogger("indextables.purge")
_SHOWN = 1000  # candidates listed by a dry run
_RETENTION = SpanKind(("DAYS", "HOURS"))
_OUTPUT = columns(
    "table_path string, metrics struct<status string, orphaned_files_found bigint, "
    "orphaned_files_deleted bigint, size_mb_deleted double, retention_hours bigint, "
    "tx_log_files_deleted bigint, expired_states_found bigint, expired_states_deleted bigint, "
    "dry_run boolean, duration_ms bigint, message string>"
)


@dataclass(frozen=True)
class Purge(Command):
    """Delete files that are no longer referenced.

    Deletes splits and index files that no readable version refers to and that are older than the
    retention (default 7 days). Deletes version files, states and manifests of the log that are
    below the latest checkpoint and older than the log's retention (default 30 days). DRY RUN
    deletes nothing, counts the files and lists candidates in its message.
    """

    target: Target
    older_than: Span | None = None
    log_retention: Span | None = None
    dry_run: bool = False


def run_purge(
    table: OpenTable,
    *,
    older_than_hours: float | None = None,
    log_hours: float | None = None,
    dry_run: bool = False,
) -> Steps[list[Row]]:
    """Delete orphaned splits and index files, and log files older than the retention.

    A large table with partitions is listed by tasks, and more than a thousand files are deleted by
    tasks.
    """
    table.log.check_maintainable()
    started = table.now_ms()
    hours = _retention_hours(table.settings, older_than_hours)
    policy = _policy(table.settings, log_hours)
    plan = yield from plan_purge_by_tasks(table, policy, started - hours * HOUR_MS)
    failed: list[str] = []
    if not dry_run:
        table.log.clean(policy)
        # from now on no version that is gone can be restored
        plan = without_new_references(table, plan)
    for orphan in plan.orphans:
        _log.info("%s `%s`", "would delete" if dry_run else "deleting", orphan.path)
    if not dry_run:
        failed = yield from delete_files(table, [orphan.path for orphan in plan.orphans])
    return [_row(table, plan, hours, failed, started, dry_run=dry_run)]


def _retention_hours(settings: Settings, given: float | None) -> float:
    hours = settings.get(keys.PURGE_RETENTION_HOURS) if given is None else given
    least = settings.get(keys.PURGE_MIN_RETENTION_HOURS)
    if settings.get(keys.PURGE_CHECK_RETENTION) and hours < least:
        raise error("PURGE_RETENTION", hours=f"{hours:g}", least=f"{least:g}")
    return hours


def _policy(settings: Settings, given: float | None) -> Policy:
    """Return the retention of the log; a clause of the command also applies to states."""
    policy = Policy.of(settings)
    if given is None:
        return policy
    return replace(policy, log_hours=given, state_hours=min(policy.state_hours, given))


def _row(
    table: OpenTable,
    plan: PurgePlan,
    hours: float,
    failed: Sequence[str],
    started: int,
    *,
    dry_run: bool,
) -> Row:
    lost = set(failed)
    size = sum(orphan.size for orphan in plan.orphans if orphan.path not in lost)
    deleted = 0 if dry_run else len(plan.orphans) - len(lost)
    states = len({path.rsplit("/", 2)[1] for path in plan.log.states})
    log_files = len(plan.log.versions) + len(plan.log.checkpoints) + len(plan.log.manifests)
    message = f"{plan.orphans_found} orphaned files, {log_files} log files, {states} states"
    if plan.orphans_found > len(plan.orphans):
        message += f"; the oldest {len(plan.orphans)} in this run"
    candidates = [*(orphan.path for orphan in plan.orphans), *plan.log.paths]
    if dry_run and candidates:
        more = len(candidates) - _SHOWN
        message += f"; would delete {', '.join(candidates[:_SHOWN])}"
        message += f" and {more} more" if more > 0 else ""
    if failed:
        message += f"; {len(failed)} could not be deleted, first `{failed[0]}`"
    metrics = {
        "status": "DRY_RUN" if dry_run else "PARTIAL_SUCCESS" if failed else "SUCCESS",
        "orphaned_files_found": plan.orphans_found,
        "orphaned_files_deleted": deleted,
        "size_mb_deleted": 0.0 if dry_run else size / (1 << 20),
        "retention_hours": int(hours),
        "tx_log_files_deleted": 0 if dry_run else log_files,
        "expired_states_found": states,
        "expired_states_deleted": 0 if dry_run else states,
        "dry_run": dry_run,
        "duration_ms": table.now_ms() - started,
        "message": message,
    }
    return {"table_path": table.path, "metrics": metrics}


def run(command: Purge, context: Context) -> Steps[list[Row]]:
    """Delete unreferenced files, or count them."""
    return (
        yield from run_purge(
            (yield from open_target(command.target, context)),
            older_than_hours=command.older_than.hours if command.older_than else None,
            log_hours=command.log_retention.hours if command.log_retention else None,
            dry_run=command.dry_run,
        )
    )


RULES = (
    Rule(
        Purge,
        "PURGE INDEXTABLE",
        (
            TARGET,
            Clause("OLDER THAN", "older_than", _RETENTION),
            Clause("TRANSACTION LOG RETENTION", "log_retention", _RETENTION),
            Flag("DRY RUN", "dry_run"),
        ),
        _OUTPUT,
        run,
    ),
    Rule(
        Purge,
        "VACUUM",
        (
            TARGET,
            Clause("RETAIN", "older_than", SpanKind(("HOURS",))),
            Flag("DRY RUN", "dry_run"),
        ),
        _OUTPUT,
        run,
        borrowed=True,
    ),
)
