"""Joins by index: which keys of another table narrow a scan, and when that is worth it.

Spark gathers the keys of one side of a join and offers them to the scan of the other before it
runs. The index finds the rows of a key without reading the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.expr.values import is_plain_string, kind_of

if TYPE_CHECKING:
    from indextables.expr.predicate import Path
    from indextables.plan.columns import Columns
    from indextables.plan.scan import ScanPlan

ALWAYS, BROADCAST = "always", "broadcast"
# finding and reading the row of a key takes as long as reading this many rows if keys are scattered
# over the table: 29 µs of CPU for each of 10,000 keys, 0.68 µs for a row of eight columns
_ROWS_PER_KEY = 40
# up to this many keys are always looked up
_FEW_KEYS = 1000
# computing the keys separately may read this share of the bytes of all rows
_WORTH = 0.5
# a condition of unknown selectivity is assumed to leave one row in this many
_CHOSEN = 5


@dataclass(frozen=True)
class KeySource:
    """The other side of a join: the maximum rows with keys, and the bytes read to compute them.

    `chosen` says that a condition selects some of the rows.
    """

    rows: int
    bytes: int
    chosen: bool = False

    @property
    def keys(self) -> int:
        """The number of keys to expect."""
        return self.rows // _CHOSEN if self.chosen else self.rows


def key_columns(columns: Columns) -> list[str]:
    """The columns whose keys narrow a scan; struct members are checked one by one."""
    return [
        info.name
        for info in columns.infos
        if kind_of(info.type) == "struct" or _answers(columns, (info.name,))
    ]


def key_limit(rows: int | None, most: int) -> int:
    """The maximum number of keys to look up; with more, all rows are read and Spark joins them."""
    worth = most if rows is None else max(_FEW_KEYS, rows // _ROWS_PER_KEY)
    return min(most, worth)


def judge_join(
    plan: ScanPlan, columns: Columns, path: Path, other: KeySource, *, most: int, local: bool
) -> tuple[str | None, str | None]:
    """When the keys of a join narrow a scan (None: never), and the text for EXPLAIN.

    Keys of a broadcast cost nothing. Otherwise Spark computes them before it joins, which is wasted
    if there are too many.
    """
    if local:
        return None, None
    name = ".".join(path)
    if not most or not _answers(columns, path):
        return None, f"{name} by Spark"
    info = columns.at(path)
    few = other.keys <= most or (info is not None and info.partition)
    if few and other.bytes <= _WORTH * plan.bytes:
        return ALWAYS, f"{name} by index up to {most} keys"
    return BROADCAST, f"{name} by index up to {most} keys of a broadcast"


def _answers(columns: Columns, path: Path) -> bool:
    """Whether the index or the log finds the rows of a key."""
    info, found = columns.at(path), columns.schema.find(path)
    if info is None or found is None or not columns.comparable(path):
        return False
    if kind_of(found.type) == "string" and not is_plain_string(found.type):
        return False
    return info.partition or (info.indexed and not (info.tokenized or info.hashed))
