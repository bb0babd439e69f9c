"""Index parts that a scan loads before it asks for rows, if the settings say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.commands.partition_choice import choose
from indextables.commands.prewarm_notes import Note, noted_prewarm
from indextables.config import cache as keys
from indextables.plan.prewarm import plan_parts
from indextables.read.rows import Parts, Source, sources_of
from indextables.sql.where import parse_where

if TYPE_CHECKING:
    from indextables.plan.scan import ScanPlan
    from indextables.read.table import OpenTable


def prewarmed_sources(table: OpenTable, scan: ScanPlan) -> list[Source]:
    """The splits of a scan, those of the wanted partitions marked to be loaded first."""
    wanted = _wanted(table)
    if wanted is None:
        return sources_of(scan.files, scan.query_of)
    chosen = [True] * scan.files.num_rows
    if wanted.where:
        predicate = parse_where(wanted.where, table.snapshot.schema)
        found = choose(scan.files, predicate, table.snapshot, wanted.where)
        kept = set(found.column("path").to_pylist())
        chosen = [path in kept for path in scan.files.column("path").to_pylist()]
    return sources_of(scan.files, scan.query_of, chosen)


def prewarmed_parts(table: OpenTable) -> Parts | None:
    """What of each such split is loaded."""
    wanted = _wanted(table)
    if wanted is None:
        return None
    parts = plan_parts(
        wanted.segments,
        wanted.fields,
        [field.name for field in table.snapshot.schema.fields],
        fail_on_missing=table.settings.get(keys.PREWARM_FAIL_ON_MISSING),
    )
    return parts.in_splits, parts.fields


def _wanted(table: OpenTable) -> Note | None:
    """What the settings name, else what PREWARM loaded, if later machines are to have it too.

    Who has it already does not load it again: the caches answer, and an open split knows.
    """
    settings = table.settings
    if settings.get(keys.PREWARM_ENABLED):
        return Note(
            settings.get(keys.PREWARM_SEGMENTS),
            settings.get(keys.PREWARM_FIELDS),
            settings.get(keys.PREWARM_PARTITION_FILTER),
        )
    if settings.get(keys.PREWARM_CATCH_UP) and table.store.is_remote:
        return noted_prewarm(table.path)
    return None
