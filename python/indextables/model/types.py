"""Spark's column types as plain values, read from and written to Spark's own schema JSON.

The log stores a table's schema as Spark's JSON, and rows are exchanged as Arrow; this module
connects the two without importing pyspark, so that a table can be opened from plain Python.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from indextables.errors import error
from indextables.model.kinds import ALIASES, KINDS

# the member of a field's metadata with the collations of the strings in it, by path
_COLLATIONS = "__COLLATIONS"
_COLLATED = "string collate "


@dataclass(frozen=True)
class DataType:
    """Base of all column types."""

    def to_json(self) -> Any:
        """Spark's JSON value of this type."""
        raise NotImplementedError

    def to_arrow(self) -> pa.DataType:
        """The Arrow type of this column's values."""
        raise NotImplementedError


@dataclass(frozen=True)
class Atomic(DataType):
    """A type without parameters that matter to us; `name` is Spark's JSON name, kept as written."""

    name: str

    def to_json(self) -> Any:
        """Spark's JSON value of this type; the metadata of a field says its collation."""
        return "string" if self.name.startswith(_COLLATED) else self.name

    def to_arrow(self) -> pa.DataType:
        """The Arrow type of this column's values."""
        arrow = KINDS[self.kind].arrow
        assert arrow is not None, self.name
        return arrow

    @cached_property
    def kind(self) -> str:
        """The name without length, collation or interval units, which determines behavior."""
        if self.name.startswith(("char(", "varchar(", _COLLATED)):
            return "string"
        if self.name.startswith("interval "):
            return "year_month" if self.name.split()[1] in ("year", "month") else "day_time"
        return ALIASES.get(self.name, self.name)


@dataclass(frozen=True)
class Decimal(DataType):
    """Exact decimal numbers."""

    precision: int
    scale: int

    def to_json(self) -> Any:
        """Spark's JSON value of this type."""
        return f"decimal({self.precision},{self.scale})"

    def to_arrow(self) -> pa.DataType:
        """The Arrow type of this column's values."""
        return pa.decimal128(self.precision, self.scale)


@dataclass(frozen=True)
class Array(DataType):
    """A list of elements of one type."""

    element: DataType
    contains_null: bool = True

    def to_json(self) -> Any:
        """Spark's JSON value of this type."""
        return {
            "type": "array",
            "elementType": self.element.to_json(),
            "containsNull": self.contains_null,
        }

    def to_arrow(self) -> pa.DataType:
        """The Arrow type of this column's values."""
        return pa.list_(pa.field("element", self.element.to_arrow(), self.contains_null))


@dataclass(frozen=True)
class Map(DataType):
    """Keys and values; keys are never null."""

    key: DataType
    value: DataType
    value_contains_null: bool = True

    def to_json(self) -> Any:
        """Spark's JSON value of this type."""
        return {
            "type": "map",
            "keyType": self.key.to_json(),
            "valueType": self.value.to_json(),
            "valueContainsNull": self.value_contains_null,
        }

    def to_arrow(self) -> pa.DataType:
        """The Arrow type of this column's values."""
        return pa.map_(
            pa.field("key", self.key.to_arrow(), nullable=False),
            pa.field("value", self.value.to_arrow(), self.value_contains_null),
        )


@dataclass(frozen=True)
class Field:
    """A named column or struct member."""

    name: str
    type: DataType
    nullable: bool = True
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        """Spark's JSON value of this field."""
        metadata = {key: value for key, value in self.metadata.items() if key != _COLLATIONS}
        collations = _collations(self.type, self.name)
        return {
            "name": self.name,
            "type": self.type.to_json(),
            "nullable": self.nullable,
            "metadata": metadata | ({_COLLATIONS: collations} if collations else {}),
        }

    def to_arrow(self) -> pa.Field:
        """The Arrow field of this column."""
        return pa.field(self.name, self.type.to_arrow(), self.nullable)


@dataclass(frozen=True)
class Struct(DataType):
    """Named members in order; also a table's schema."""

    fields: tuple[Field, ...]

    def to_json(self) -> Any:
        """Spark's JSON value of this type."""
        return {"type": "struct", "fields": [f.to_json() for f in self.fields]}

    def to_arrow(self) -> pa.DataType:
        """The Arrow type of this column's values."""
        return pa.struct([f.to_arrow() for f in self.fields])

    def to_arrow_schema(self) -> pa.Schema:
        """The Arrow schema of rows of a table with this schema."""
        return self._arrow_schema

    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        return pa.schema([f.to_arrow() for f in self.fields])

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [f.name for f in self.fields]

    def get(self, name: str) -> Field | None:
        """The field of exactly this name."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        # the first one of a name that is there twice
        return {field.name: field for field in reversed(self.fields)}

    def find(self, path: tuple[str, ...]) -> Field | None:
        """The field at a path through nested structs."""
        found = self.get(path[0])
        if found is None or len(path) == 1:
            return found
        return found.type.find(path[1:]) if isinstance(found.type, Struct) else None


_DECIMAL = re.compile(r"decimal(?:\(\s*(\d+)\s*,\s*(-?\d+)\s*\))?$")


def parse_type(value: Any, column: str = "?") -> DataType:
    """Parse a type from its JSON value."""
    if isinstance(value, str):
        return _parse_atomic(value, column)
    kind = value.get("type")
    if kind == "struct":
        return Struct(tuple(parse_field(f, column) for f in value["fields"]))
    if kind == "array":
        return Array(parse_type(value["elementType"], column), value.get("containsNull", True))
    if kind == "map":
        return Map(
            parse_type(value["keyType"], column),
            parse_type(value["valueType"], column),
            value.get("valueContainsNull", True),
        )
    if kind == "udt":
        return parse_type(value["sqlType"], column)
    raise error("SCHEMA_UNSUPPORTED_TYPE", column=column, type=json.dumps(value))


def _parse_atomic(name: str, column: str) -> DataType:
    decimal = _DECIMAL.match(name)
    if decimal:
        return Decimal(int(decimal[1] or 10), int(decimal[2] or 0))
    atomic = Atomic(name)
    if atomic.kind not in KINDS or KINDS[atomic.kind].arrow is None:
        raise error("SCHEMA_UNSUPPORTED_TYPE", column=column, type=name)
    return atomic


def parse_field(value: dict[str, Any], parent: str = "?") -> Field:
    """Parse a field from its JSON value."""
    name = value["name"]
    column = name if parent == "?" else f"{parent}.{name}"
    metadata = value.get("metadata") or {}
    kind = parse_type(value["type"], column)
    collations = metadata.get(_COLLATIONS)
    if isinstance(collations, dict):
        kind = _collate(kind, name, collations)
    return Field(name, kind, value.get("nullable", True), metadata)


def _collate(kind: DataType, path: str, collations: dict[str, Any]) -> DataType:
    """The type with the collations that a field's metadata gives its strings.

    A nested struct has fields of its own, whose metadata have their collations.
    """
    if isinstance(kind, Array):
        return replace(kind, element=_collate(kind.element, f"{path}.element", collations))
    if isinstance(kind, Map):
        key = _collate(kind.key, f"{path}.key", collations)
        return replace(kind, key=key, value=_collate(kind.value, f"{path}.value", collations))
    if isinstance(kind, Atomic) and kind.kind == "string" and path in collations:
        # provider and name, such as `icu.UNICODE_CI`
        collation = str(collations[path]).rpartition(".")[2]
        return kind if collation == "UTF8_BINARY" else Atomic(_COLLATED + collation)
    return kind


def _collations(kind: DataType, path: str) -> dict[str, str]:
    """The inverse of `_collate`: the collations of a field's strings by path."""
    if isinstance(kind, Array):
        return _collations(kind.element, f"{path}.element")
    if isinstance(kind, Map):
        return {**_collations(kind.key, f"{path}.key"), **_collations(kind.value, f"{path}.value")}
    if not isinstance(kind, Atomic) or not kind.name.startswith(_COLLATED):
        return {}
    name = kind.name.removeprefix(_COLLATED)
    return {path: f"{'spark' if name.startswith('UTF8') else 'icu'}.{name}"}


def parse_schema(text: str) -> Struct:
    """Parse a schema from Spark's JSON."""
    value = json.loads(text)
    return Struct(tuple(parse_field(f) for f in value["fields"]))


def render_schema(schema: Struct) -> str:
    """Spark's JSON of a schema."""
    return json.dumps(schema.to_json(), separators=(",", ":"), ensure_ascii=False)
