"""Set columns of the rows that a scan finds to constants."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.errors import error
from indextables.log.transaction import Operation
from indextables.plan.constraints import require_no_checks
from indextables.read.request import ScanRequest
from indextables.read.scan import plan_scan, run_scan
from indextables.read.spec import row_id
from indextables.rows.change_rows import positions
from indextables.rows.commit_rows import RowChange, commit_rows
from indextables.rows.delete import Changed
from indextables.save.spec import spec_of_write
from indextables.save.splits import sorted_by_partition, write_batches

if TYPE_CHECKING:
    from indextables.expr.predicate import Predicate
    from indextables.read.table import OpenTable


def update_rows(
    table: OpenTable, predicates: tuple[Predicate, ...], values: Mapping[str, Any]
) -> Changed:
    """Set columns to values where predicates hold that the index answers exactly.

    The rows are read into memory, changed, and written into new splits; one commit replaces the
    old ones. It fails if another writer changed one of them meanwhile.
    """
    snapshot = table.snapshot
    schema = snapshot.schema.to_arrow_schema()
    _check_columns(schema, values)
    require_no_checks(snapshot.metadata.configuration, table.path)
    spec = spec_of_write(
        table.log, snapshot, snapshot.schema, snapshot.partition_columns, table.settings
    )
    output = pa.schema([*schema, *row_id(snapshot.schema, "UPDATE")])
    scan = plan_scan(table, ScanRequest(output, predicates, here=True))
    if not scan.plan.filters.exact:
        raise error("CONDITION_NOT_EXACT")
    found = run_scan(scan)
    if not found.num_rows:
        return Changed(0)
    rows = _changed(found.select(schema.names), schema, values)
    splits = write_batches(spec, sorted_by_partition(spec, rows.to_batches()))
    change = RowChange(Operation.UPDATE, positions(found), splits, spec)
    done = commit_rows(table.log, change, snapshot, table.settings)
    return Changed(found.num_rows, done.version)


def _check_columns(schema: pa.Schema, values: Mapping[str, Any]) -> None:
    unknown = [name for name in values if name not in schema.names]
    if unknown:
        columns = ", ".join(unknown)
        raise error("COLUMN_UNKNOWN", columns=columns, available=", ".join(schema.names))


def _changed(rows: pa.Table, schema: pa.Schema, values: Mapping[str, Any]) -> pa.Table:
    for name, value in values.items():
        field = schema.field(name)
        # a one-row table holds a value of any type: scalars of nested types cannot be repeated
        constant = _constant(value, field).take(pa.repeat(0, rows.num_rows))
        rows = rows.set_column(schema.get_field_index(name), field, constant)
    return rows


def _has_fractions(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _lost(value: Any, kind: pa.DataType) -> str | None:
    """What Arrow would drop of a value of this type: fractions and unknown members."""
    if isinstance(value, float | Decimal) and not _has_fractions(kind) and value % 1:
        return f"{value} is not a whole number"
    parts: list[tuple[Any, pa.DataType]] = []
    if pa.types.is_struct(kind) and isinstance(value, Mapping):
        members = {member.name: member.type for member in kind}
        unknown = [str(name) for name in value if name not in members]
        if unknown:
            return f"there is no member {', '.join(unknown)}, only {', '.join(members)}"
        parts = [(value[name], members[name]) for name in value]
    elif pa.types.is_map(kind) and value is not None:
        entries = value.items() if isinstance(value, Mapping) else value
        parts = [part for k, v in entries for part in ((k, kind.key_type), (v, kind.item_type))]
    elif pa.types.is_list(kind) and value is not None:
        parts = [(element, kind.value_type) for element in value]
    return next((lost for part in parts if (lost := _lost(*part)) is not None), None)


def _constant(value: Any, field: pa.Field) -> pa.Array:
    try:
        found = pa.array([value], field.type)
    except (ValueError, TypeError, ArithmeticError) as problem:
        raise error("DATA_BAD_VALUE", column=field.name, detail=str(problem)) from problem
    lost = _lost(value, field.type)
    if lost is not None:
        raise error("DATA_BAD_VALUE", column=field.name, detail=lost)
    return found
