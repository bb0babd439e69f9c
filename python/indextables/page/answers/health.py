"""The health of a table, and the statements that fix problems. Nothing is run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from indextables.commands.checkpoint import Checkpoint
from indextables.commands.describe_state import run_describe_state
from indextables.commands.merge_splits import DEFAULT_TARGET_BYTES, MergeSplits
from indextables.commands.prewarm import PrewarmCache
from indextables.commands.purge import Purge
from indextables.commands.purge_plan import plan_purge
from indextables.commands.target import Target
from indextables.config import maintenance as keys
from indextables.engine.cache import cache_stats
from indextables.log.retention import Policy
from indextables.model import kernels as pc
from indextables.page.answers.facts import table_facts
from indextables.plan.merge import MergeLimits, plan_merge
from indextables.plan.orphans import HOUR_MS
from indextables.show.values import UNKNOWN, counted, number, percent, size, stamp
from indextables.sql.render import render

if TYPE_CHECKING:
    from indextables.page.answers.facts import TableFacts
    from indextables.read.table import OpenTable

_DELETED_SHARE = 0.1
_VERSIONS_BEHIND = 20
_HIT_RATE = 0.5


class Level(StrEnum):
    """How serious a finding is."""

    GOOD = "good"
    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """One check: its finding, and the statement that fixes it."""

    check: str
    level: Level
    text: str
    statement: str = ""


def findings(table: OpenTable) -> list[Finding]:
    """Checks of the log and of this process; orphans need a listing, see `orphans`."""
    facts, target = table_facts(table), Target(table.path)
    return [
        _small_splits(table, target),
        _deleted_rows(facts, target),
        _statistics(table),
        _checkpoint(table, target),
        _retention(table),
        _caches(table, target),
    ]


def orphans(table: OpenTable) -> Finding:
    """Files that no version refers to."""
    hours = table.settings.get(keys.PURGE_RETENTION_HOURS)
    too_old_ms = table.now_ms() - hours * HOUR_MS
    plan = plan_purge(table, Policy.of(table.settings), too_old_ms)
    expired = len(plan.log.paths)
    if not plan.orphans_found and not expired:
        return Finding("Orphans", Level.GOOD, f"No files older than {hours:g} hours are left over.")
    room = sum(file.size for file in plan.orphans)
    text = (
        f"{counted(plan.orphans_found, 'file')} ({size(room)}) and {counted(expired, 'file')} of "
        "the transaction log can be deleted."
    )
    return Finding("Orphans", Level.WARNING, text, render(Purge(Target(table.path), dry_run=True)))


def _small_splits(table: OpenTable, target: Target) -> Finding:
    files = table.snapshot.files()
    groups = plan_merge(files, MergeLimits(DEFAULT_TARGET_BYTES))
    joined = sum(len(group.paths) for group in groups if len(group.paths) > 1)
    if not joined:
        text = f"{counted(files.num_rows, 'split')}, none of which would be merged with others."
        return Finding("Split sizes", Level.GOOD, text)
    merged = sum(len(group.paths) > 1 for group in groups)
    text = f"{counted(joined, 'small split')} would become {merged}: fewer splits search faster."
    return Finding("Split sizes", Level.WARNING, text, render(MergeSplits(target)))


def _deleted_rows(facts: TableFacts, target: Target) -> Finding:
    if not facts.deleted:
        return Finding("Deleted rows", Level.GOOD, "No split holds deleted rows.")
    share = facts.deleted / max(facts.deleted + (facts.rows or 0), 1)
    level = Level.WARNING if share >= _DELETED_SHARE else Level.NOTE
    text = (
        f"{counted(facts.deleted, 'deleted row')} ({percent(share)}) still take room in the splits."
    )
    return Finding("Deleted rows", level, text, render(MergeSplits(target)))


def _statistics(table: OpenTable) -> Finding:
    files = table.snapshot.files()
    missing = (
        files.num_rows
        and pc.sum(
            pc.or_(pc.is_null(files["minValues"]), pc.is_null(files["numRecords"])).cast("int64")
        ).as_py()
    )
    if not missing:
        return Finding("Statistics", Level.GOOD, "Every split has row counts and bounds.")
    text = f"{counted(missing, 'split')} without statistics: queries cannot leave them out."
    statement = render(MergeSplits(Target(table.path)))
    return Finding("Statistics", Level.WARNING, text, statement)


def _checkpoint(table: OpenTable, target: Target) -> Finding:
    state = run_describe_state(table)[0]
    behind = table.snapshot.version - (state["version"] if state["format"] != "none" else -1)
    if state["needs_compaction"]:
        text = f"The state of version {state['version']} holds many removed entries."
        return Finding("Checkpoint", Level.WARNING, text, render(Checkpoint(target)))
    if state["format"] == "none":
        level = Level.WARNING if behind > _VERSIONS_BEHIND else Level.GOOD
        text = f"No checkpoint yet; {counted(behind, 'version file')} to read."
    else:
        level = Level.WARNING if behind > _VERSIONS_BEHIND else Level.GOOD
        text = f"Version {state['version']}, {counted(behind, 'version')} behind the newest."
    return Finding(
        "Checkpoint", level, text, "" if level is Level.GOOD else render(Checkpoint(target))
    )


def _retention(table: OpenTable) -> Finding:
    policy = Policy.of(table.settings)
    listing = table.log.reader.listing()
    first = listing.versions[0] if listing.versions else table.snapshot.version
    hours = f"{policy.log_hours:g} hours"
    oldest = next(iter(table.log.reader.commits(first, first)), None) if listing.versions else None
    since = stamp(oldest.timestamp) if oldest is not None else UNKNOWN
    kept = f"Versions {number(first)} to {number(table.snapshot.version)} can be read"
    text = f"{kept}, since {since}; they are kept for {hours}."
    return Finding("Retention", Level.GOOD, text)


def _caches(table: OpenTable, target: Target) -> Finding:
    stats = cache_stats()
    reads = stats.memory_hits + stats.memory_misses
    if not table.store.is_remote:
        return Finding("Caches", Level.GOOD, "The table is on a local disk: nothing is cached.")
    if not reads:
        return Finding("Caches", Level.NOTE, "This page has not read any split yet.")
    rate = stats.memory_hits / reads
    disk = stats.disk_hits + stats.disk_misses
    parts = [f"memory {percent(rate)} of {number(reads)} reads"]
    parts += [f"disk {percent(stats.disk_hits / disk)} of {number(disk)}"] if disk else []
    text = f"Hit rates of this page: {', '.join(parts)}; {size(stats.memory_used)} in memory."
    if rate < _HIT_RATE:
        return Finding("Caches", Level.NOTE, text, render(PrewarmCache(target)))
    return Finding("Caches", Level.GOOD, text)
