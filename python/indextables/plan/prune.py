"""Prune splits that cannot have a matching row, by partition values, minimum and maximum.

For every split: may the predicate be true for some row of it? NOT asks whether it may be false, so
any depth of logic is sound. The unknown counts as possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.expr.binding import bind
from indextables.expr.evaluate import evaluate_leaf
from indextables.expr.predicate import (
    And,
    Approximate,
    Constant,
    HasElement,
    Missing,
    Not,
    OneOf,
    Or,
    Path,
    Predicate,
    Range,
    TextMatch,
    walk,
)
from indextables.expr.values import kind_of
from indextables.model import kernels as pc
from indextables.model.arrays import FALSE, TRUE
from indextables.plan.columns import AS_TEXT_KINDS
from indextables.plan.split_bounds import SplitBounds
from indextables.plan.statistics import Extremes, may_hold, may_not_hold, read_bounds, read_extremes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from indextables.log.state import PartitionBounds
    from indextables.model.types import Struct
    from indextables.plan.columns import Columns

_LEAVES = (Range, OneOf, TextMatch, Missing, HasElement)


@dataclass(frozen=True)
class PruneCounters:
    """How many splits were considered, and why some were pruned."""

    considered: int
    pruned_by_partition: int
    pruned_by_stats: int
    kept: int

    def narrowed_to(self, kept: int) -> PruneCounters:
        """The counters after hash indexes pruned some more."""
        if kept == self.kept:
            return self
        return replace(self, pruned_by_stats=self.pruned_by_stats + self.kept - kept, kept=kept)


def prune_splits(
    files: pa.Table,
    predicate: Predicate,
    schema: Struct,
    partition_columns: tuple[str, ...] = (),
    columns: Columns | None = None,
    *,
    known: Callable[[], SplitBounds] | None = None,
) -> tuple[pa.Table, PruneCounters]:
    """The splits that may hold a row that matches a bound predicate.

    `columns` tells which statistics follow the order of their types; without it, only those are
    used that all writers store alike. `known` returns the bounds of `files` that an earlier query
    has read.
    """
    total = files.num_rows
    nodes = list(walk(predicate))
    used = {node.path for node in nodes if isinstance(node, _LEAVES)}
    constant = any(isinstance(node, Constant) for node in nodes)
    if not used and not constant:
        return files, PruneCounters(total, 0, 0, total)
    bounds = known() if known else SplitBounds(files, schema, trusted_columns(schema, columns))
    by_name = tuple(name for name in partition_columns if (name,) in used)
    by_partition = files
    if by_name:
        by_partition = _keep(files, _possible(predicate, bounds.values(by_name), {}, total))
        if by_partition is not files:
            bounds = bounds.of(by_partition)
    kept = by_partition
    names = sorted(p[0] for p in used if len(p) == 1 and p[0] not in partition_columns)
    if names or constant:
        values, extremes = bounds.values(by_name), bounds.extremes(names)
        mask = _possible(predicate, values, extremes, by_partition.num_rows)
        kept = _keep(by_partition, mask)
    return kept, PruneCounters(
        total, total - by_partition.num_rows, by_partition.num_rows - kept.num_rows, kept.num_rows
    )


def trusted_columns(schema: Struct, columns: Columns | None) -> set[str]:
    """The columns whose statistics follow the order of their types."""
    if columns is not None:
        return {info.name for info in columns.infos if info.ordered}
    doubtful = {*AS_TEXT_KINDS, "string"}
    return {field.name for field in schema.fields if kind_of(field.type) not in doubtful}


def column_bounds(
    files: pa.Table, schema: Struct, columns: Columns, names: Sequence[str]
) -> dict[str, tuple[Any, Any]]:
    """Minimum and maximum over all splits, of the columns for which every split knows them."""
    found = read_extremes(files, schema, names, trusted_columns(schema, columns))
    bounds = {}
    for (name, *_), extremes in found.items():
        whole = not (extremes.low.null_count or extremes.high.null_count or extremes.cut)
        if whole and files.num_rows:
            low, high = pc.min(extremes.low), pc.max(extremes.high)
            bounds[name] = (_number(low), _number(high))
    return bounds


def _number(value: pa.Scalar) -> Any:
    """A bound as JSON can hold it: days, microseconds, decimals as text."""
    if pa.types.is_date(value.type):
        return value.cast(pa.int32()).as_py()
    if pa.types.is_temporal(value.type):
        return value.cast(pa.int64()).as_py()
    return str(value.as_py()) if pa.types.is_decimal(value.type) else value.as_py()


def _keep(files: pa.Table, mask: pa.Array) -> pa.Table:
    return files if mask.true_count == len(mask) else files.filter(mask)


def keep_manifest(
    bounds: Mapping[str, PartitionBounds] | None,
    predicate: Predicate,
    schema: Struct,
    partition_columns: tuple[str, ...] = (),
) -> bool:
    """Whether a manifest may list a split with a matching row, by its partition bounds.

    A missing bound means unknown. Bounds say nothing about nulls, so those stay possible.
    """
    if not bounds:
        return True
    bound = bind(predicate, schema)
    used = {node.path for node in walk(bound) if isinstance(node, _LEAVES)}
    names = [name for name in partition_columns or bounds if (name,) in used and name in bounds]
    row = {
        "minValues": [[(name, bounds[name].min) for name in names]],
        "maxValues": [[(name, bounds[name].max) for name in names]],
    }
    texts = pa.map_(pa.string(), pa.string())
    table = pa.table({side: pa.array(maps, texts) for side, maps in row.items()})
    extremes = read_bounds(table, schema, names)
    return bool(_possible(bound, {}, extremes, 1)[0].as_py())


def _possible(
    predicate: Predicate,
    partitions: Mapping[Path, pa.Array],
    extremes: Mapping[Path, Extremes],
    rows: int,
    *,
    wanted: bool = True,
) -> pa.Array:
    """Per split: whether the predicate may have the wanted truth for some row of it."""
    if isinstance(predicate, And | Or):
        parts = [_possible(a, partitions, extremes, rows, wanted=wanted) for a in predicate.args]
        return _fold(parts, rows, every=isinstance(predicate, And) is wanted)
    if isinstance(predicate, Not):
        return _possible(predicate.arg, partitions, extremes, rows, wanted=not wanted)
    if isinstance(predicate, Constant):
        return _all(predicate.value is wanted, rows)
    return _leaf(predicate, partitions, extremes, rows, wanted=wanted)


def _leaf(
    leaf: Predicate,
    partitions: Mapping[Path, pa.Array],
    extremes: Mapping[Path, Extremes],
    rows: int,
    *,
    wanted: bool,
) -> pa.Array:
    if isinstance(leaf, Approximate):
        return _possible(leaf.true if wanted else leaf.false, partitions, extremes, rows)
    truth = evaluate_leaf(leaf, partitions)
    if truth is not None:
        return pc.fill_null(truth if wanted else pc.invert(truth), FALSE)
    known = extremes.get(getattr(leaf, "path", ()))
    if known is None or not isinstance(leaf, Range | OneOf | TextMatch):
        return _all(True, rows)  # noqa: FBT003
    return may_hold(leaf, known) if wanted else may_not_hold(leaf, known)


def _fold(parts: list[pa.Array], rows: int, *, every: bool) -> pa.Array:
    if not parts:
        return _all(every, rows)
    return reduce(pc.and_ if every else pc.or_, parts)


def _all(value: bool, rows: int) -> pa.Array:  # noqa: FBT001
    return pa.repeat(TRUE if value else FALSE, rows)
