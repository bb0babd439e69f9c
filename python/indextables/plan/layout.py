"""The distribution and order of rows in the tasks that write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.config import write as keys
from indextables.model.types import Array, Map, Struct

if TYPE_CHECKING:
    from indextables.config.settings import Settings


@dataclass(frozen=True)
class Layout:
    """The columns that cluster rows into tasks, the order within a task, and bytes per task."""

    cluster_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    advisory_bytes: int = 0


def plan_layout(
    schema: Struct, partitions: tuple[str, ...], settings: Settings, *, whole_rows: bool = True
) -> Layout:
    """Rows are clustered and sorted by partition, so that a task writes one split at a time.

    Optimized writes also balance tasks: Spark splits and coalesces them to the given size, which
    it only does for rows that are clustered. Without partitions any column serves for that, as
    tasks that are too large are cut.
    """
    mode = settings.get(keys.DISTRIBUTION_MODE)
    if not settings.get(keys.OPTIMIZE) or mode == "none":
        return Layout(partitions, partitions)
    cluster = partitions or (_any_column(schema) if whole_rows else ())
    if not cluster:
        return Layout()
    wanted = settings.get(keys.TARGET_SPLIT_BYTES) * settings.get(keys.SAMPLING_RATIO)
    return Layout(cluster, partitions, int(wanted))


def rows_per_split(rows: int | None, size: int, settings: Settings) -> int | None:
    """How many rows fill a split, estimated from the splits of the table; None if unknown.

    The size of a split is an estimate until it is complete; that of complete ones is known.
    """
    balanced = settings.get(keys.OPTIMIZE) and settings.get(keys.DISTRIBUTION_MODE) == "balanced"
    if not balanced or not rows or not size or rows < settings.get(keys.MIN_ROWS_FOR_ESTIMATION):
        return None
    return max(1, settings.get(keys.MAX_SPLIT_BYTES) * rows // size)


def _any_column(schema: Struct) -> tuple[str, ...]:
    flat = [f.name for f in schema.fields if not isinstance(f.type, Struct | Array | Map)]
    return tuple(flat[:1])
