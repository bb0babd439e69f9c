"""Partial results of aggregations: assembled per split, computed from the log, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from indextables.errors import error
from indextables.model import kernels as pc
from indextables.model.arrays import FALSE, small_scalar
from indextables.plan.aggregates import LONG, WIDE
from indextables.plan.partitions import partition_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.model.types import Struct
    from indextables.plan.aggregates import AggregatePlan, Output

_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_IDEMPOTENT_MERGES = ("min", "max")
# a column, what is done to it, and how
_Fold: TypeAlias = "tuple[str, str, pc.FunctionOptions | None]"


def complete_partial(
    batch: pa.RecordBatch, plan: AggregatePlan, constants: Mapping[str, pa.Scalar]
) -> pa.RecordBatch:
    """The engine's result for one split, completed by the split's partition values."""
    rows = batch.column(plan.rows_index) if plan.rows_index >= 0 else None
    if plan.keys and not plan.request["group_by"] and rows is not None:
        # without keys the engine returns a row even if nothing matched, which is not a group
        batch = batch.filter(pc.greater(rows, 0))
        rows = batch.column(plan.rows_index)
    arrays = []
    for position, output in enumerate(plan.outputs):
        if output.source == "engine":
            column = batch.column(output.index)
            same = column.type == output.field.type
            arrays.append(column if same else column.cast(output.field.type))
            continue
        value = pa.repeat(constants[output.column], batch.num_rows)
        arrays.append(_of_partition(plan, position, value, rows))
    return pa.RecordBatch.from_arrays(arrays, schema=plan.schema)


def _of_partition(
    plan: AggregatePlan, position: int, value: pa.Array, rows: pa.Array | None
) -> pa.Array:
    """A column derived from a partition value and the number of rows that share it."""
    output = plan.outputs[position]
    if position < plan.keys or rows is None:
        return value
    some = pc.greater(rows, 0)
    if output.source == "partition":
        return pc.if_else(some, value, small_scalar(None, value.type))
    present = pc.if_else(pc.is_null(value), small_scalar(0, rows.type), rows)
    if output.source == "partition_count":
        return present.cast(output.field.type)
    total = _times(value, rows, output, ansi=plan.request["ansi"])
    return pc.if_else(some, total, small_scalar(None, total.type))


def _times(value: pa.Array, rows: pa.Array, output: Output, *, ansi: bool) -> pa.Array:
    """The sum of a value over a number of rows that share it."""
    kind = output.field.type
    if pa.types.is_floating(kind):  # a long is rounded, as Spark does for averages
        return pc.multiply(value.cast(kind, safe=False), rows.cast(kind, safe=False))
    # a product needs the digits of both factors, but only temporarily
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    wide = pc.multiply(value.cast(pa.decimal256(38, scale)), rows.cast(pa.decimal256(19, 0)))
    if pa.types.is_decimal(kind):
        return wide.cast(kind)
    return _to_long(wide, output.column if ansi else None)


def partials_from_log(
    files: pa.Table, plan: AggregatePlan, schema: Struct, partition_columns: tuple[str, ...]
) -> pa.Table | None:
    """One row per split from the log alone; None if a split's row count is not recorded."""
    if not plan.from_log:
        return None
    rows = live_rows(files)
    if rows is None:
        return None
    values = partition_arrays(files, schema, partition_columns)
    arrays = []
    for position, output in enumerate(plan.outputs):
        if output.source == "engine":
            arrays.append(rows)
        else:
            arrays.append(_of_partition(plan, position, values[output.column,], rows))
    partials = pa.Table.from_arrays(arrays, schema=plan.schema)
    # a split without a live row has no group
    return partials.filter(pc.greater(rows, 0)) if plan.keys else partials


def live_rows(files: pa.Table) -> pa.Array | None:
    """Rows per split after deletions; None if some split does not record them."""
    rows = files.column("numRecords").combine_chunks()
    if rows.null_count:
        return None
    if "deletionVector" not in files.column_names:
        return rows.cast(pa.int64())
    deleted = pc.struct_field(files.column("deletionVector"), "cardinality").combine_chunks()
    if "hidden" in files.column_names:  # for a companion, instead of the vector
        hidden = pc.struct_field(files.column("hidden"), "cardinality").combine_chunks()
        deleted = pc.coalesce(hidden, deleted.cast(pa.int64()))
    return pc.subtract(rows, pc.fill_null(deleted, small_scalar(0, deleted.type))).cast(pa.int64())


def merge_partials(partials: pa.Table, plan: AggregatePlan, *, ansi: bool = False) -> pa.Table:
    """One row per group from partial results; one row in all when there are no keys."""
    names = plan.schema.names
    keys = names[: plan.keys]
    table = partials.select(names)
    for at, name in enumerate(keys):
        table = table.set_column(at, name, _normal(table.column(at)))
    columns = dict(zip(keys, table.columns[: plan.keys], strict=True))
    specs: list[_Fold] = []
    for name, merge in zip(names[plan.keys :], plan.merges, strict=True):
        for part, array, how in _ingredients(name, table.column(name), merge):
            columns[part] = array
            least = 0 if merge == "count" else 1
            specs.append((part, how, pc.ScalarAggregateOptions(min_count=least)))
    if keys:
        grouped = pa.TableGroupBy(pa.table(columns), keys, use_threads=False).aggregate(specs)
    else:
        grouped = _folded(columns, specs)
    arrays = [grouped.column(name) for name in keys]
    for output, merge in zip(plan.outputs[plan.keys :], plan.merges, strict=True):
        arrays.append(_merged(grouped, output, merge, ansi=ansi))
    return pa.Table.from_arrays(arrays, schema=plan.schema)


def _folded(columns: Mapping[str, pa.ChunkedArray], specs: Sequence[_Fold]) -> pa.Table:
    """The one row of an aggregation without keys, named as grouping does."""
    found = {
        f"{part}_{how}": pc.call_function(how, [columns[part]], options)
        for part, how, options in specs
    }
    return pa.table({name: pa.array([value], value.type) for name, value in found.items()})


def _normal(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Group keys as Spark groups them: one zero, one NaN."""
    if not pa.types.is_floating(array.type):
        return array
    nan = small_scalar(float("nan"), array.type)
    return pc.if_else(pc.is_nan(array), nan, pc.add(array, small_scalar(0.0, array.type)))


def _ingredients(
    name: str, array: pa.ChunkedArray, merge: str
) -> list[tuple[str, pa.ChunkedArray, str]]:
    """The columns to aggregate for one merged column, with their kernels."""
    how = "sum" if merge == "count" else merge
    if merge == "sum" and pa.types.is_int64(array.type):
        return [(name, array.cast(WIDE), how)]
    if merge in _IDEMPOTENT_MERGES and pa.types.is_floating(array.type):
        nan = pc.is_nan(array)
        number = pc.if_else(nan, small_scalar(None, array.type), array)
        return [(name, number, how), (f"{name}?", nan.cast(pa.int64()), "max")]
    return [(name, array, how)]


def _merged(grouped: pa.Table, output: Output, merge: str, *, ansi: bool) -> pa.ChunkedArray:
    field = output.field
    how = "sum" if merge == "count" else merge
    array = grouped.column(f"{field.name}_{how}")
    if merge == "sum" and pa.types.is_int64(field.type):
        return _to_long(array, output.column if ansi else None)
    if merge in _IDEMPOTENT_MERGES and pa.types.is_floating(field.type):
        some_nan = pc.fill_null(pc.equal(grouped.column(f"{field.name}?_max"), 1), FALSE)
        # NaN is the greatest; it is the least only where nothing else is
        wins = some_nan if merge == "max" else pc.and_(some_nan, pc.is_null(array))
        return pc.if_else(wins, small_scalar(float("nan"), array.type), array).cast(field.type)
    if merge == "count":
        return pc.fill_null(array, small_scalar(0, array.type))
    return array.cast(field.type)


def _to_long(array: pa.Array | pa.ChunkedArray, column: str | None) -> Any:
    """Sums beyond the range of a long fail, naming the column, or wrap if none is given."""
    low, high = (small_scalar(end, pa.int64()).cast(WIDE) for end in (_LONG_MIN, _LONG_MAX))
    wide = array.cast(WIDE)
    outside = pc.or_(pc.less(wide, low), pc.greater(wide, high))
    if not pc.any(outside, min_count=0).as_py():
        return wide.cast(LONG)
    if column is not None:
        raise error("ARITHMETIC_OVERFLOW", column=column)
    values = [None if v is None else int(v) for v in wide.to_pylist()]
    wrapped = [None if v is None else (v - _LONG_MIN) % (1 << 64) + _LONG_MIN for v in values]
    long = pa.array(wrapped, LONG)
    return long if isinstance(array, pa.Array) else pa.chunked_array([long])
