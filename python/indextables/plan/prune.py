"""Which splits can hold a matching row: decided by partition values and by minimum and maximum.

For every split two questions are answered at once: may the predicate be true for some row of it,
may it be false? NOT swaps them, so any depth of logic is sound. The unknown counts as possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.expr.binding import bind
from indextables.expr.evaluate import evaluate_leaf
from indextables.expr.predicate import (
    And,
    Constant,
    HasElement,
    Missing,
    Not,
    OneOf,
    Or,
    Path,
    Predicate,
    Range,
    Roughly,
    TextMatch,
    walk,
)
from indextables.expr.values import kind_of
from indextables.plan.columns import AS_TEXT_KINDS
from indextables.plan.partitions import partition_arrays
from indextables.plan.statistics import Extremes, may_hold, may_not_hold, read_bounds, read_extremes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.log.state import PartitionBounds
    from indextables.model.types import Struct
    from indextables.plan.columns import Columns

_LEAVES = (Range, OneOf, TextMatch, Missing, HasElement)


@dataclass(frozen=True)
class PruneCounters:
    """How many splits were looked at and why some were left out."""

    considered: int
    pruned_by_partition: int
    pruned_by_stats: int
    kept: int

    def narrowed_to(self, kept: int) -> PruneCounters:
        """The counters when what the log says of keys left out some more."""
        return replace(self, pruned_by_stats=self.pruned_by_stats + self.kept - kept, kept=kept)


@dataclass(frozen=True)
class _Possible:
    """Per split: may the predicate be true, may it be false."""

    true: pa.Array
    false: pa.Array


def prune_splits(
    files: pa.Table,
    predicate: Predicate,
    schema: Struct,
    partition_columns: tuple[str, ...] = (),
    columns: Columns | None = None,
) -> tuple[pa.Table, PruneCounters]:
    """The splits that may hold a matching row. The predicate may be bound or as parsed.

    `columns` tells which statistics follow the order of their types; without it only those are
    used that every writer keeps alike.
    """
    bound = bind(predicate, schema)
    total = files.num_rows
    used = {node.path for node in walk(bound) if isinstance(node, _LEAVES)}
    by_name = tuple(name for name in partition_columns if (name,) in used)
    by_partition = files
    if by_name:
        values = partition_arrays(files, schema, by_name)
        by_partition = _keep(files, _possible(bound, values, {}, total).true)
    kept = by_partition
    names = sorted(p[0] for p in used if len(p) == 1 and p[0] not in partition_columns)
    if names or any(isinstance(node, Constant) for node in walk(bound)):
        trusted = _trusted(schema, columns)
        extremes = read_extremes(by_partition, schema, names, trusted)
        values = partition_arrays(by_partition, schema, by_name)
        mask = _possible(bound, values, extremes, by_partition.num_rows).true
        kept = _keep(by_partition, mask)
    return kept, PruneCounters(
        total, total - by_partition.num_rows, by_partition.num_rows - kept.num_rows, kept.num_rows
    )


def _trusted(schema: Struct, columns: Columns | None) -> set[str]:
    if columns is not None:
        return {info.name for info in columns.infos if info.ordered}
    doubtful = {*AS_TEXT_KINDS, "string"}
    return {field.name for field in schema.fields if kind_of(field.type) not in doubtful}


def column_bounds(
    files: pa.Table, schema: Struct, columns: Columns, names: Sequence[str]
) -> dict[str, tuple[Any, Any]]:
    """Minimum and maximum over all splits, of the columns for which every split knows them."""
    found = read_extremes(files, schema, names, _trusted(schema, columns))
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
    return files if pc.all(mask, min_count=0).as_py() else files.filter(mask)


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
    return bool(_possible(bound, {}, extremes, 1).true[0].as_py())


def _possible(
    predicate: Predicate,
    partitions: Mapping[Path, pa.Array],
    extremes: Mapping[Path, Extremes],
    rows: int,
) -> _Possible:
    if isinstance(predicate, And | Or):
        parts = [_possible(arg, partitions, extremes, rows) for arg in predicate.args]
        is_and = isinstance(predicate, And)
        return _Possible(
            _fold([p.true for p in parts], rows, every=is_and),
            _fold([p.false for p in parts], rows, every=not is_and),
        )
    if isinstance(predicate, Not):
        inner = _possible(predicate.arg, partitions, extremes, rows)
        return _Possible(inner.false, inner.true)
    if isinstance(predicate, Constant):
        return _Possible(_all(predicate.value is True, rows), _all(predicate.value is False, rows))
    return _leaf(predicate, partitions, extremes, rows)


def _leaf(
    leaf: Predicate,
    partitions: Mapping[Path, pa.Array],
    extremes: Mapping[Path, Extremes],
    rows: int,
) -> _Possible:
    if isinstance(leaf, Roughly):
        return _Possible(
            _possible(leaf.true, partitions, extremes, rows).true,
            _possible(leaf.false, partitions, extremes, rows).true,
        )
    truth = evaluate_leaf(leaf, partitions)
    if truth is not None:
        return _Possible(
            pc.fill_null(truth, False),  # noqa: FBT003
            pc.fill_null(pc.invert(truth), False),  # noqa: FBT003
        )
    known = extremes.get(getattr(leaf, "path", ()))
    if known is None or not isinstance(leaf, Range | OneOf | TextMatch):
        return _Possible(_all(True, rows), _all(True, rows))  # noqa: FBT003
    return _Possible(may_hold(leaf, known), may_not_hold(leaf, known))


def _fold(parts: list[pa.Array], rows: int, *, every: bool) -> pa.Array:
    result: Any = _all(every, rows)
    for part in parts:
        result = pc.and_(result, part) if every else pc.or_(result, part)
    return result


def _all(value: bool, rows: int) -> pa.Array:  # noqa: FBT001
    return pa.repeat(pa.scalar(value, pa.bool_()), rows)
