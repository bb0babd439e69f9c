"""Iceberg schemas as Spark shows them, and the addresses of columns in files, by field id."""

from __future__ import annotations

from typing import Any

from indextables.engine.source import Address
from indextables.errors import error
from indextables.model.types import Array, Atomic, DataType, Decimal, Field, Map, Struct

_ATOMIC = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
}


def spark_schema(schema: Any) -> Struct:
    """The columns of an Iceberg schema as Spark has them."""
    return _struct(schema.fields)


def _struct(fields: Any) -> Struct:
    return Struct(tuple(Field(f.name, _type(f.field_type, f.name), not f.required) for f in fields))


def _type(kind: Any, column: str) -> DataType:
    if hasattr(kind, "fields"):
        return _struct(kind.fields)
    if hasattr(kind, "element_type"):
        return Array(_type(kind.element_type, column), not kind.element_required)
    if hasattr(kind, "key_type"):
        key, value = _type(kind.key_type, column), _type(kind.value_type, column)
        return Map(key, value, not kind.value_required)
    name = str(kind)
    if name.startswith("decimal("):
        return Decimal(kind.precision, kind.scale)
    if name.startswith("fixed["):
        return Atomic("binary")
    if name not in _ATOMIC:
        raise error("SCHEMA_UNSUPPORTED_TYPE", column=column, type=name)
    return Atomic(_ATOMIC[name])


def iceberg_addresses(schema: Any, mapping: Any) -> tuple[Address, ...]:
    """The addresses of columns: field ids, or names from a name mapping for files without ids."""
    return _addresses(schema.fields, _names(mapping))


def _names(mapping: Any) -> dict[int, tuple[str, ...]]:
    """The names of a name mapping by field id."""
    found: dict[int, tuple[str, ...]] = {}

    def collect(fields: Any) -> None:
        for each in fields:
            if each.field_id is not None:
                found[each.field_id] = tuple(each.names)
            collect(each.fields)

    if mapping is not None:
        collect(mapping.root)
    return found


def _addresses(fields: Any, names: dict[int, tuple[str, ...]]) -> tuple[Address, ...]:
    for each in fields:
        if getattr(each, "initial_default", None) is not None:
            # a column that is missing from a file has this value, not null
            raise error("SCHEMA_UNSUPPORTED_TYPE", column=each.name, type="initial default")
    return tuple(_address(f.name, f.field_id, f.field_type, names) for f in fields)


def _address(name: str, number: int, kind: Any, names: dict[int, tuple[str, ...]]) -> Address:
    children: tuple[Address, ...] = ()
    if hasattr(kind, "fields"):
        children = _addresses(kind.fields, names)
    elif hasattr(kind, "element_type"):
        children = (_address("element", kind.element_id, kind.element_type, names),)
    elif hasattr(kind, "key_type"):
        children = (
            _address("key", kind.key_id, kind.key_type, names),
            _address("value", kind.value_id, kind.value_type, names),
        )
    return Address(name, names.get(number, ()), number, children)
