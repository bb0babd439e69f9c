"""PURGE: delete what no version refers to any more.

The data is listed first and the log read after it, so that whatever was committed before the
listing counts as referred to; what a running writer has not committed yet is protected by its age.
The log's own old files go before the data they refer to: a crash in between leaves orphans, never a
version that names a deleted file.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indextables.config import log as log_keys
from indextables.config import maintenance as keys
from indextables.errors import StorageError, error
from indextables.log import names
from indextables.ops.log_files import Inventory, take_inventory
from indextables.ops.references import References, find_references
from indextables.plan.retention import (
    HOUR_MS,
    LogCleanup,
    Retention,
    StoredFile,
    plan_log_cleanup,
    plan_orphans,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.config.settings import Settings
    from indextables.ops.opened import OpenTable, Row

_log = logging.getLogger("indextables.purge")


@dataclass(frozen=True)
class PurgePlan:
    """What goes: files of the log, and orphans among the data."""

    log_files: tuple[str, ...]
    state_files: tuple[str, ...]
    states: int
    orphans: tuple[StoredFile, ...]
    orphans_found: int


def run_purge(
    table: OpenTable,
    *,
    older_than_hours: float | None = None,
    log_hours: float | None = None,
    dry_run: bool = False,
) -> list[Row]:
    """Delete orphaned splits and index files, and what of the log has outlived its retention."""
    started = table.now_ms()
    hours = _retention_hours(table.settings, older_than_hours)
    plan = plan_purge(table, hours, log_hours, started)
    for orphan in plan.orphans:
        _log.info("%s `%s`", "would delete" if dry_run else "deleting", orphan.path)
    failed: list[str] = []
    if not dry_run:
        for group in (plan.log_files, plan.state_files, [o.path for o in plan.orphans]):
            failed += _delete(table, group)
    return [_row(table, plan, hours, failed, started, dry_run=dry_run)]


def plan_purge(table: OpenTable, hours: float, log_hours: float | None, now_ms: int) -> PurgePlan:
    """Look at the whole table and decide; nothing is changed."""
    inventory = take_inventory(table.log)
    cleanup = plan_log_cleanup(inventory.log, _retention(table.settings, log_hours), now_ms)
    cleanup = _keep_metadata(table, inventory, cleanup)
    left = sorted({*inventory.log.versions} - {*cleanup.versions})
    bases = {*inventory.log.states, *inventory.log.checkpoints}
    bases -= {*cleanup.states, *cleanup.checkpoints}
    referenced = find_references(table.log, left, sorted(bases))
    limit = table.settings.get(keys.PURGE_MAX_FILES)
    too_old = now_ms - hours * HOUR_MS
    orphans, count = plan_orphans(inventory.data, referenced.data, too_old, limit)
    log_files = [names.version_file(version) for version in cleanup.versions]
    for version in cleanup.checkpoints:
        log_files += inventory.checkpoints[version]
    log_files += _orphaned_manifests(table, inventory, referenced, now_ms)
    states = _state_files(inventory, cleanup, referenced)
    return PurgePlan(tuple(log_files), states, len(cleanup.states), orphans, count)


def _retention_hours(settings: Settings, asked: float | None) -> float:
    hours = settings.get(keys.PURGE_RETENTION_HOURS) if asked is None else asked
    least = settings.get(keys.PURGE_MIN_RETENTION_HOURS)
    if settings.get(keys.PURGE_CHECK_RETENTION) and hours < least:
        raise error("PURGE_RETENTION", hours=f"{hours:g}", least=f"{least:g}")
    return hours


def _retention(settings: Settings, asked: float | None) -> Retention:
    """How long the log is kept; a clause of the command counts for states as well."""
    in_ms = settings.get(log_keys.LOG_RETENTION_MS)
    log_ms = in_ms if in_ms is not None else settings.get(log_keys.LOG_RETENTION_HOURS) * HOUR_MS
    state_ms = settings.get(log_keys.STATE_RETENTION_HOURS) * HOUR_MS
    if asked is not None:
        log_ms, state_ms = asked * HOUR_MS, min(state_ms, asked * HOUR_MS)
    return Retention(log_ms, state_ms, settings.get(log_keys.STATE_RETENTION_VERSIONS))


def _keep_metadata(table: OpenTable, inventory: Inventory, cleanup: LogCleanup) -> LogCleanup:
    """Older states leave the metadata to the version files: then these must stay."""
    base = inventory.log.newest_base
    if base is None or base not in inventory.log.states:
        return cleanup
    if table.log.reader.state(base).metadata is not None:
        return cleanup
    return replace(cleanup, versions=(), checkpoints=())


def _orphaned_manifests(
    table: OpenTable, inventory: Inventory, referenced: References, now_ms: int
) -> list[str]:
    # young ones may belong to a checkpoint that is just being written
    too_old = now_ms - table.settings.get(log_keys.GC_MIN_MANIFEST_AGE_HOURS) * HOUR_MS
    return [
        manifest.path
        for manifest in inventory.manifests
        if manifest.path not in referenced.manifests and manifest.modified_ms <= too_old
    ]


def _state_files(
    inventory: Inventory, cleanup: LogCleanup, referenced: References
) -> tuple[str, ...]:
    """The files of expired states; manifests that a newer state uses stay where they are."""
    paths = [path for version in cleanup.states for path in inventory.states[version]]
    gone = [path for path in paths if path not in referenced.manifests]
    # without its head a state does not exist, so the head goes first
    return tuple(sorted(gone, key=lambda path: (not path.endswith("/_manifest.avro"), path)))


def _delete(table: OpenTable, paths: Sequence[str]) -> list[str]:
    """Delete files; those that could not be deleted come back."""
    tries = table.settings.get(keys.PURGE_RETRIES) + 1
    with ThreadPoolExecutor(table.settings.get(log_keys.STATE_READ_PARALLELISM)) as pool:
        done = pool.map(lambda path: _delete_one(table, path, tries), paths)
        return [path for path, deleted in zip(paths, done, strict=True) if not deleted]


def _delete_one(table: OpenTable, path: str, tries: int) -> bool:
    for attempt in range(tries):
        try:
            table.store.delete([path])
        except StorageError as failure:
            _log.warning("could not delete `%s` (try %d): %s", path, attempt + 1, failure)
        else:
            return True
    return False


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
    deleted = 0 if dry_run else sum(orphan.path not in lost for orphan in plan.orphans)
    log_deleted = 0 if dry_run else sum(path not in lost for path in plan.log_files)
    message = f"{plan.orphans_found} orphaned files, {len(plan.log_files)} log files"
    if plan.orphans_found > len(plan.orphans):
        message += f"; the oldest {len(plan.orphans)} in this run"
    if failed:
        message += f"; {len(failed)} could not be deleted, first `{failed[0]}`"
    metrics = {
        "status": "DRY_RUN" if dry_run else "PARTIAL_SUCCESS" if failed else "SUCCESS",
        "orphaned_files_found": plan.orphans_found,
        "orphaned_files_deleted": deleted,
        "size_mb_deleted": 0.0 if dry_run else size / (1 << 20),
        "retention_hours": int(hours),
        "tx_log_files_deleted": log_deleted,
        "expired_states_found": plan.states,
        "expired_states_deleted": 0 if dry_run or lost & {*plan.state_files} else plan.states,
        "dry_run": dry_run,
        "duration_ms": table.now_ms() - started,
        "message": message,
    }
    return {"table_path": table.path, "metrics": metrics}
