"""Convert Arrow schemas to table schemas: the inverse of `to_arrow`."""

from __future__ import annotations

import pyarrow as pa

from indextables.errors import error
from indextables.model.kinds import KINDS, Family
from indextables.model.types import Array, Atomic, DataType, Decimal, Field, Map, Struct

# other Arrow forms of the same types; intervals are named by their units
_NAMES = {
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.large_binary(): "binary",
} | {kind.arrow: kind.name for kind in KINDS.values() if kind.family is not Family.INTERVAL}

_MAX_DIGITS = 38
# types of Arrow that tables do not have, as Spark reads them from Parquet: nothing is lost
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}


def storable(kind: pa.DataType) -> pa.DataType:
    """The type in which a table stores values of this type; the same type if possible."""
    types = pa.types
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_fixed_size_list(kind) or types.is_list(kind):
        return pa.list_(_storable_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_storable_field(kind.key_field), _storable_field(kind.item_field))
    if types.is_struct(kind):
        return pa.struct([_storable_field(field) for field in kind])
    return _WIDER.get(kind, kind)


def _storable_field(field: pa.Field) -> pa.Field:
    return field.with_type(storable(field.type))


def schema_from_arrow(schema: pa.Schema) -> Struct:
    """The table schema of rows with this Arrow schema."""
    return Struct(tuple(_field(field) for field in schema))


def type_from_arrow(kind: pa.DataType, column: str = "?") -> DataType:
    """The column type whose values have this Arrow type."""
    types = pa.types
    if kind in _NAMES:
        return Atomic(_NAMES[kind])
    if types.is_timestamp(kind):
        return Atomic("timestamp_ntz" if kind.tz is None else "timestamp")
    if types.is_duration(kind):
        return Atomic("interval day to second")
    if types.is_decimal(kind) and kind.precision <= _MAX_DIGITS:
        return Decimal(kind.precision, kind.scale)
    if types.is_dictionary(kind):
        return type_from_arrow(kind.value_type, column)
    return _nested(kind, column)


def _nested(kind: pa.DataType, column: str) -> DataType:
    types = pa.types
    if types.is_struct(kind):
        return Struct(tuple(_field(kind.field(i), column) for i in range(kind.num_fields)))
    if types.is_list(kind) or types.is_large_list(kind):
        return Array(type_from_arrow(kind.value_type, column), kind.value_field.nullable)
    if types.is_map(kind):
        key = type_from_arrow(kind.key_type, column)
        return Map(key, type_from_arrow(kind.item_type, column), kind.item_field.nullable)
    raise error("SCHEMA_UNSUPPORTED_TYPE", column=column, type=str(kind))


def _field(field: pa.Field, parent: str = "?") -> Field:
    column = field.name if parent == "?" else f"{parent}.{field.name}"
    return Field(field.name, type_from_arrow(field.type, column), field.nullable)
