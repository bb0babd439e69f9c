"""Index parts that a scan loads before it asks for rows, if the settings say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import cache as keys
from indextables.ops.partition_choice import choose
from indextables.ops.read import Parts, Source, sources_of
from indextables.plan.prewarm import plan_parts
from indextables.sql.where import parse_where

if TYPE_CHECKING:
    from indextables.ops.opened import OpenTable
    from indextables.plan.scan import ScanPlan


def prewarmed_sources(table: OpenTable, scan: ScanPlan) -> list[Source]:
    """The splits of a scan, those of the wanted partitions marked to be loaded first."""
    settings = table.settings
    if not settings.get(keys.PREWARM_ENABLED):
        return sources_of(scan.files, scan.query_of)
    where = settings.get(keys.PREWARM_PARTITION_FILTER)
    chosen = [True] * scan.files.num_rows
    if where:
        predicate = parse_where(where, table.snapshot.schema)
        kept = choose(scan.files, predicate, table.snapshot, where).column("path").to_pylist()
        chosen = [path in set(kept) for path in scan.files.column("path").to_pylist()]
    return sources_of(scan.files, scan.query_of, chosen)


def prewarmed_parts(table: OpenTable) -> Parts | None:
    """What of each such split is loaded."""
    settings = table.settings
    if not settings.get(keys.PREWARM_ENABLED):
        return None
    parts = plan_parts(
        settings.get(keys.PREWARM_SEGMENTS),
        settings.get(keys.PREWARM_FIELDS),
        [field.name for field in table.snapshot.schema.fields],
        fail_on_missing=settings.get(keys.PREWARM_FAIL_ON_MISSING),
    )
    return parts.in_splits, parts.fields
