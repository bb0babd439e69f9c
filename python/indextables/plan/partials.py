"""Partial results of aggregations: put together per split, computed from the log, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.plan.partitions import partition_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.model.types import Struct
    from indextables.plan.aggregates import AggregatePlan, Output


def complete_partial(
    batch: pa.RecordBatch, plan: AggregatePlan, constants: Mapping[str, pa.Scalar]
) -> pa.RecordBatch:
    """What the engine gave for one split, with the split's partition values put in."""
    rows = batch.column(plan.rows_index) if plan.rows_index >= 0 else None
    arrays = []
    for position, output in enumerate(plan.outputs):
        if output.source == "engine":
            arrays.append(batch.column(output.index).cast(output.field.type))
            continue
        value = pa.repeat(constants[output.column], batch.num_rows)
        arrays.append(_of_partition(output, value, rows, is_key=position < plan.keys))
    return pa.RecordBatch.from_arrays(arrays, schema=plan.schema)


def _of_partition(
    output: Output, value: pa.Array, rows: pa.Array | None, *, is_key: bool
) -> pa.Array:
    """A column derived from a partition value and the number of rows that share it."""
    if is_key or rows is None:
        return value
    some = pc.greater(rows, 0)
    if output.source == "partition":
        return pc.if_else(some, value, pa.scalar(None, value.type))
    present = pc.if_else(pc.is_null(value), pa.scalar(0, rows.type), rows)
    if output.source == "partition_count":
        return present.cast(output.field.type)
    total = pc.multiply(value.cast(output.field.type), _as_number(rows, output.field.type))
    return pc.if_else(some, total.cast(output.field.type), pa.scalar(None, output.field.type))


def _as_number(rows: pa.Array, kind: pa.DataType) -> pa.Array:
    return rows.cast(pa.decimal128(19, 0)) if pa.types.is_decimal(kind) else rows.cast(kind)


def partials_from_log(
    files: pa.Table, plan: AggregatePlan, schema: Struct, partition_columns: tuple[str, ...]
) -> pa.Table | None:
    """One row per split from the log alone; None when a split's row count is not recorded."""
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
            arrays.append(
                _of_partition(output, values[output.column,], rows, is_key=position < plan.keys)
            )
    partials = pa.Table.from_arrays(arrays, schema=plan.schema)
    # a split without a live row has no group
    return partials.filter(pc.greater(rows, 0)) if plan.keys else partials


def live_rows(files: pa.Table) -> pa.Array | None:
    """Rows per split after deletions, null-free; None when some split does not record them."""
    rows = files.column("numRecords").combine_chunks()
    if rows.null_count:
        return None
    if "deletionVector" not in files.column_names:
        return rows.cast(pa.int64())
    deleted = pc.struct_field(files.column("deletionVector"), "cardinality").combine_chunks()
    return pc.subtract(rows, pc.fill_null(deleted, 0)).cast(pa.int64())
