"""The files that PURGE deletes.

The data is listed before the log is read, so that everything committed before the listing counts as
referenced. Files of a running writer that are not yet committed are protected by their age.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from indextables.commands.list_task import find_unreferenced
from indextables.commands.log_files import (
    take_inventory,
    take_log_inventory,
    take_small_inventory,
)
from indextables.commands.references import find_references
from indextables.config import maintenance as keys
from indextables.plan.orphans import plan_orphans

if TYPE_CHECKING:
    from indextables.commands.log_files import Inventory
    from indextables.log.cleaning import Cleaned
    from indextables.log.retention import Policy
    from indextables.plan.orphans import StoredFile
    from indextables.read.table import OpenTable
    from indextables.runtime.steps import Steps


@dataclass(frozen=True)
class PurgePlan:
    """The files to delete: files of the log, and orphaned data files as of a version."""

    log: Cleaned
    orphans: tuple[StoredFile, ...]
    orphans_found: int
    version: int


def without_new_references(table: OpenTable, plan: PurgePlan) -> PurgePlan:
    """The plan without files that came back since, because another process restored a version."""
    newer = sorted(v for v in take_log_inventory(table.log).versions if v > plan.version)
    if not newer:
        return plan
    referenced = find_references(table.log, newer, ())
    orphans, left = plan_orphans(plan.orphans, referenced, inf, len(plan.orphans))
    spared = len(plan.orphans) - left
    return replace(plan, orphans=orphans, orphans_found=plan.orphans_found - spared)


def plan_purge(table: OpenTable, policy: Policy, too_old_ms: float) -> PurgePlan:
    """Scan the whole table and decide what to delete, without changing anything."""
    return _plan_listed(table, take_inventory(table.log), policy, too_old_ms)


def plan_purge_by_tasks(table: OpenTable, policy: Policy, too_old_ms: float) -> Steps[PurgePlan]:
    """The same, where tasks list a large table.

    Only partitions divide a table. Without them its files are in one folder, which is listed page
    by page.
    """
    if not table.snapshot.metadata.partition_columns:
        return plan_purge(table, policy, too_old_ms)
    limit = table.settings.get(keys.PURGE_LIST_HERE)
    inventory = take_small_inventory(table.log, limit)
    if inventory is not None:
        return _plan_listed(table, inventory, policy, too_old_ms)
    return (yield from _plan_large(table, policy, too_old_ms))


def _plan_listed(
    table: OpenTable, inventory: Inventory, policy: Policy, too_old_ms: float
) -> PurgePlan:
    cleaned, referenced = _kept(table, inventory, policy)
    limit = table.settings.get(keys.PURGE_MAX_FILES)
    orphans, count = plan_orphans(inventory.data, referenced, too_old_ms, limit)
    return PurgePlan(cleaned, orphans, count, max(inventory.versions, default=-1))


def _plan_large(table: OpenTable, policy: Policy, too_old_ms: float) -> Steps[PurgePlan]:
    """Read the log before the listing, so that tasks return few files, and again after it."""
    before = take_log_inventory(table.log)
    cleaned, referenced = _kept(table, before, policy)
    files, count = yield from find_unreferenced(table, referenced, too_old_ms)
    version = max(before.versions, default=-1)
    newer = sorted(v for v in take_log_inventory(table.log).versions if v > version)
    if newer:
        referenced = find_references(table.log, newer, ())
    limit = table.settings.get(keys.PURGE_MAX_FILES)
    orphans, left = plan_orphans(files, referenced, too_old_ms, limit)
    return PurgePlan(cleaned, orphans, count - (len(files) - left), max([version, *newer]))


def _kept(table: OpenTable, inventory: Inventory, policy: Policy) -> tuple[Cleaned, set[str]]:
    """The log files to delete, and the data files that the other ones refer to."""
    cleaned = table.log.clean(policy, dry_run=True)
    left = inventory.without(cleaned.paths)
    return cleaned, find_references(table.log, sorted(left.versions), sorted(left.bases))
