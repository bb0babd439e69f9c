"""The groups that MERGE SPLITS merges: pure, from the splits of a snapshot.

Only splits of the same partition and tags can be merged. Within these, small ones are taken in
order of age until the target size is reached. Splits with deleted rows are rewritten
whatever their size, because that is how deleted rows leave the table.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.expr.values import kind_of
from indextables.model import kernels as pc
from indextables.plan.columns import AS_TEXT_KINDS
from indextables.plan.partitions import map_column
from indextables.plan.statistics import read_extremes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa

    from indextables.model.types import Struct

_FEWEST = 2
_COLUMNS = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "splitTags",
    "deletionVector",
)


@dataclass(frozen=True)
class MergeLimits:
    """How far a merge goes."""

    target_bytes: int
    skip_threshold: float = 0.45
    max_sources: int = 1000
    max_groups: int | None = None


@dataclass(frozen=True)
class MergeGroup:
    """Splits to merge into one, oldest first."""

    partition_values: Mapping[str, str]
    paths: tuple[str, ...]
    size_bytes: int
    oldest_ms: int


@dataclass(frozen=True)
class _Candidate:
    path: str
    size: int
    modified_ms: int
    has_deletions: bool


def plan_merge(
    files: pa.Table, limits: MergeLimits, left_alone: Collection[str] = ()
) -> tuple[MergeGroup, ...]:
    """The groups worth merging; `left_alone` are splits that recently could not be read."""
    by_kind: dict[Any, list[_Candidate]] = defaultdict(list)
    partitions: dict[Any, Mapping[str, str]] = {}
    small = limits.skip_threshold * limits.target_bytes
    for row in files.select(_COLUMNS).to_pylist():
        has_deletions = row["deletionVector"] is not None
        if row["path"] in left_alone or (row["size"] >= small and not has_deletions):
            continue
        values = dict(row["partitionValues"] or ())
        kind = _kind(row, values)
        partitions[kind] = values
        by_kind[kind].append(
            _Candidate(row["path"], row["size"], row["modificationTime"], has_deletions)
        )
    groups = [
        MergeGroup(
            partitions[kind],
            tuple(candidate.path for candidate in group),
            sum(candidate.size for candidate in group),
            group[0].modified_ms,
        )
        for kind, candidates in by_kind.items()
        for group in _pack(candidates, limits)
    ]
    # the largest gain first; then the order of age, so that the choice is the same every time
    groups.sort(key=lambda group: (-len(group.paths), group.oldest_ms, group.paths))
    return tuple(groups[: limits.max_groups])


def _kind(row: Mapping[str, Any], values: Mapping[str, str]) -> Any:
    return tuple(sorted(values.items())), tuple(sorted(row["splitTags"] or ()))


def _pack(candidates: list[_Candidate], limits: MergeLimits) -> list[list[_Candidate]]:
    """Fill groups one after the other, oldest splits first."""
    groups: list[list[_Candidate]] = []
    room = 0
    for candidate in sorted(candidates, key=lambda c: (c.modified_ms, c.path)):
        fits = candidate.size <= room and len(groups[-1]) < limits.max_sources if groups else False
        if fits:
            groups[-1].append(candidate)
            room -= candidate.size
        else:
            groups.append([candidate])
            room = limits.target_bytes - candidate.size
    return [
        group
        for group in groups
        if len(group) >= _FEWEST or any(candidate.has_deletions for candidate in group)
    ]


def fold_statistics(
    sources: pa.Table, schema: Struct, names: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Minimum and maximum of the merged split, for columns that have them in all sources.

    The extremes of rows that were deleted may stay: they bound the live rows too.
    """
    low: dict[str, str] = {}
    high: dict[str, str] = {}
    # strings of these kinds by other writers are not in the order of the type
    trusted = {f.name for f in schema.fields if kind_of(f.type) not in AS_TEXT_KINDS}
    for (name,), known in read_extremes(sources, schema, names, trusted).items():
        if known.low.null_count or known.high.null_count or not len(known.low):
            continue
        lows = map_column(sources.column("minValues"), name)
        highs = map_column(sources.column("maxValues"), name)
        low[name] = lows[pc.index(known.low, pc.min(known.low)).as_py()].as_py()
        high[name] = highs[pc.index(known.high, pc.max(known.high)).as_py()].as_py()
    return low, high
