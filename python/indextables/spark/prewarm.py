"""Index parts that a scan loads before it reads rows, if configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.commands.prewarm_notes import Note, noted_prewarm
from indextables.config import cache as keys
from indextables.expr.where import parse_partition_where
from indextables.plan.prewarm import plan_parts
from indextables.read.request import Prewarm

if TYPE_CHECKING:
    from indextables.read.table import OpenTable


def prewarm_of(table: OpenTable) -> Prewarm | None:
    """What scans of a table prewarm, and in which partitions."""
    wanted = _wanted(table)
    if wanted is None:
        return None
    schema = table.snapshot.schema
    parts = plan_parts(
        wanted.segments,
        wanted.fields,
        [field.name for field in schema.fields],
        fail_on_missing=table.settings.get(keys.PREWARM_FAIL_ON_MISSING),
    )
    where = parse_partition_where(wanted.where, schema) if wanted.where else None
    return Prewarm((parts.in_splits, parts.fields), where)


def _wanted(table: OpenTable) -> Note | None:
    """What the settings name, else what PREWARM loaded, if new hosts must have it too.

    Nothing is loaded twice: the caches answer, and an open split records its loaded parts.
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
