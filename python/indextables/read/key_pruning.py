"""Prune splits of buckets that cannot have the keys in a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from indextables.expr.binding import bind
from indextables.expr.predicate import And, OneOf, Predicate
from indextables.index.hash_files import maps_of
from indextables.index.key_hash import hash_keys
from indextables.plan.key_splits import buckets_of
from indextables.plan.keys import plan_key
from indextables.plan.partitions import typed_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from indextables.config.settings import Settings
    from indextables.log import Snapshot
    from indextables.storage import Store

# more keys than these are likely to be in every bucket
_MOST_KEYS = 1000


def prune_by_key(
    files: pa.Table, predicate: Predicate, snapshot: Snapshot, store: Store, settings: Settings
) -> pa.Table:
    """The splits that may have a row with one of the keys in the predicate."""
    indexes = snapshot.hash_indexes
    if files.num_rows <= 1 or not indexes:
        return files
    spec = plan_key(snapshot.schema, snapshot.partition_columns, settings)
    hashes = None if spec is None else _hashes(predicate, snapshot, spec.inside)
    if hashes is None:
        return files
    values = files.column("partitionValues").to_pylist()
    partitions = [tuple(sorted(value or ())) for value in values]
    held = {*partitions}
    maps = maps_of(store, [index for index in indexes if index.partition in held])
    near = {
        (partition, bucket)
        for partition, known in maps.items()
        for bucket in np.unique(known.every(hashes)[1]).tolist()
    }
    keep = [
        bucket < 0 or (partition, bucket) in near
        for partition, bucket in zip(partitions, buckets_of(files).tolist(), strict=True)
    ]
    return files if all(keep) else files.filter(keep)


def _hashes(
    predicate: Predicate, snapshot: Snapshot, inside: tuple[str, ...]
) -> NDArray[np.int32] | None:
    """The hashes of the keys in a predicate; None if it may match any key."""
    named = {leaf.path: leaf for leaf in _all_of(bind(predicate, snapshot.schema))}
    columns = []
    total = 1
    for name in inside:
        leaf = named.get((name,))
        field = snapshot.schema.get(name)
        if leaf is None or field is None:
            return None
        total *= len(leaf.values)
        if total > _MOST_KEYS:
            return None
        columns.append(typed_array(list(leaf.values), field.type))
    # all combinations of the values of each column
    grid = np.meshgrid(*(np.arange(len(column)) for column in columns), indexing="ij")
    return hash_keys([c.take(pa.array(g.ravel())) for c, g in zip(columns, grid, strict=True)])


def _all_of(predicate: Predicate) -> Iterable[OneOf]:
    """The predicates on values that hold for every matching row."""
    if isinstance(predicate, And):
        return [leaf for arg in predicate.args for leaf in _all_of(arg)]
    return [predicate] if isinstance(predicate, OneOf) else []
