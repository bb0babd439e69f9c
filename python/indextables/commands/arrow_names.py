"""Column types from the type names in a split: those of Arrow's Rust library."""

from __future__ import annotations

import re

from indextables.errors import error
from indextables.model.types import Array, Atomic, DataType, Decimal, Field, Map, Struct

_SIMPLE = {
    "Boolean": "boolean",
    "Int8": "byte",
    "Int16": "short",
    "Int32": "integer",
    "Int64": "long",
    "Float32": "float",
    "Float64": "double",
    "Utf8": "string",
    "LargeUtf8": "string",
    "Binary": "binary",
    "LargeBinary": "binary",
    "Date32": "date",
    "Null": "void",
}
_DURATION = "interval day to second"
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NUMBERS = re.compile(r"\((\d+), (-?\d+)\)")
_ZONE = re.compile(r'\([^,)]+(, "[^"]*")?\)')
_ELEMENT = re.compile(r", field: '(?:[^'\\]|\\.)*'")


def parse_arrow_name(text: str) -> DataType:
    """Return the column type for the name of an Arrow type."""
    reader = _Reader(text)
    found, _ = reader.type()
    if reader.at != len(text):
        raise reader.problem()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def problem(self) -> Exception:
        return error("SCHEMA_UNSUPPORTED_TYPE", column="?", type=self.text)

    def take(self, literal: str) -> bool:
        found = self.text.startswith(literal, self.at)
        self.at += len(literal) if found else 0
        return found

    def need(self, literal: str) -> None:
        if not self.take(literal):
            raise self.problem()

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.problem()
        self.at = found.end()
        return found

    def type(self) -> tuple[DataType, bool]:
        """Return a type and whether its values can be null."""
        nullable = not self.take("non-null ")
        name = self.match(_WORD)[0]
        if name in _SIMPLE:
            return Atomic(_SIMPLE[name]), nullable
        if name == "Decimal128":
            precision, scale = self.match(_NUMBERS).groups()
            return Decimal(int(precision), int(scale)), nullable
        if name == "Timestamp":
            zone = self.match(_ZONE)[1]
            return Atomic("timestamp" if zone else "timestamp_ntz"), nullable
        if name == "Duration":
            self.match(_ZONE)
            return Atomic(_DURATION), nullable
        return self.nested(name), nullable

    def nested(self, name: str) -> DataType:
        self.need("(")
        if name == "Struct":
            return self.members()
        if name in ("List", "LargeList"):
            element, nullable = self.type()
            if self.text.startswith(", field:", self.at):
                self.match(_ELEMENT)
            self.need(")")
            return Array(element, nullable)
        if name == "Map":
            self.match(_QUOTED)
            self.need(": ")
            entries, _ = self.type()
            self.need(
                ", unsorted)" if not self.text.startswith(", sorted)", self.at) else ", sorted)"
            )
            assert isinstance(entries, Struct)
            key, value = entries.fields
            return Map(key.type, value.type, value.nullable)
        raise self.problem()

    def members(self) -> Struct:
        fields: list[Field] = []
        while not self.take(")"):
            if fields:
                self.need(", ")
            name = self.match(_QUOTED)[1].replace('\\"', '"').replace("\\\\", "\\")
            self.need(": ")
            kind, nullable = self.type()
            fields.append(Field(name, kind, nullable))
        return Struct(tuple(fields))
