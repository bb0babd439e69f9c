"""The changes of ALTER TABLE, applied to a schema and a configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from indextables.errors import error
from indextables.expr.predicate import read_type
from indextables.model.types import Array, Field, Map, Struct
from indextables.plan.constraints import CHECKS_KEY, add_check, drop_check
from indextables.plan.defaults import CURRENT_DEFAULT, INITIAL_DEFAULT
from indextables.plan.schemas import check_duplicates, describe, widens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.model.types import DataType

_COMMENT = "comment"
# members of a column's metadata, and their names in changes
_NOTED = {_COMMENT: "comment", CURRENT_DEFAULT: "default", INITIAL_DEFAULT: "initial"}
# properties of a name in a catalog, not of the table
_OF_THE_NAME = frozenset({"location", "provider", "owner", "external", "is_managed_location"})
# Spark's names for the members of arrays and maps in the path of a column
_ELEMENT, _KEY, _VALUE = "element", "key", "value"


def change_configuration(
    configuration: Mapping[str, str], changes: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """The configuration after the changes of properties."""
    changed = dict(configuration)
    for change in changes:
        if change.get("set", change.get("remove")) in _OF_THE_NAME:
            continue
        if "set" in change:
            changed[change["set"]] = change["value"]
        elif "remove" in change:
            changed.pop(change["remove"], None)
        elif "add_constraint" in change:
            changed |= add_check(changed, change["add_constraint"])
        elif "drop_constraint" in change:
            name = change["drop_constraint"]
            checks = drop_check(changed, name, missing_ok=change["if_exists"])
            changed = {**{k: v for k, v in changed.items() if k != CHECKS_KEY}, **checks}
    return changed


def steps(
    schema: Struct, changes: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[str], list[Mapping[str, Any]]]:
    """Changes of a table with rows: those before, the assignments of an update, and those after.

    Splits store columns by name, so a column is renamed by copying it.
    """
    first: list[Mapping[str, Any]] = []
    fills: list[str] = []
    last: list[Mapping[str, Any]] = []
    for change in changes:
        if "rename" in change:
            old = _get(schema, _top_level(tuple(change["column"]), "RENAME"))
            new = {**old.to_json(), "name": change["rename"], "like": old.name}
            position = {"after": old.name}
            first.append({"column": [], "add": {**new, "nullable": True, "position": position}})
            fills.append(f"{_quoted(change['rename'])} = {_quoted(old.name)}")
            last.append({"column": [old.name], "drop": {"if_exists": False}})
            continue
        first.append(change)
        if "default" in change.get("add", {}):
            fills.append(f"{_quoted(change['add']['name'])} = DEFAULT")
    return first, fills, last


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def change_schema(schema: Struct, changes: Sequence[Mapping[str, Any]]) -> Struct:
    """The schema after the changes of columns."""
    for change in changes:
        schema = _change_column(schema, change)
    return schema


def _change_column(schema: Struct, change: Mapping[str, Any]) -> Struct:
    column = tuple(change.get("column", ()))
    if "add" in change:
        added, position = _new_field(change["add"]), change["add"].get("position")
        return _in_struct(schema, column, lambda parent: _insert(parent, added, position))
    kind = next((kind for kind in (*_OF_SCHEMAS, *_OF_FIELDS) if kind in change), None)
    if kind is None:
        return schema
    if kind in _OF_SCHEMAS:
        return _OF_SCHEMAS[kind](schema, column, change[kind])
    return _field(schema, column, lambda field: _OF_FIELDS[kind](field, change[kind]))


def _new_field(given: Mapping[str, Any]) -> Field:
    metadata = given.get("metadata") or {}
    field = Field(
        given["name"], read_type(given["type"], given["name"]), given["nullable"], metadata
    )
    if not field.nullable:
        raise error("UNSUPPORTED_CHANGE", change=f"ADD COLUMN `{field.name}` NOT NULL")
    for key, member in _NOTED.items():
        field = _noted(field, key, given[member]) if member in given else field
    return field


def _noted(field: Field, key: str, text: str | None) -> Field:
    """A field with a member of its metadata set or removed."""
    metadata = {name: value for name, value in field.metadata.items() if name != key}
    return replace(field, metadata=metadata if text is None else {**metadata, key: text})


def _top_level(column: tuple[str, ...], change: str) -> str:
    if len(column) != 1:
        name = ".".join(column)
        raise error("UNSUPPORTED_CHANGE", change=f"{change} COLUMN `{name}`, a member of a struct")
    return column[0]


def _drop(schema: Struct, column: tuple[str, ...], how: Mapping[str, Any]) -> Struct:
    name = _top_level(column, "DROP")
    if how["if_exists"] and name.lower() not in {known.lower() for known in schema.names}:
        return schema
    gone = _get(schema, name)
    if len(schema.fields) == 1:
        raise error("UNSUPPORTED_CHANGE", change="DROP or REPLACE of every column")
    return Struct(tuple(f for f in schema.fields if f is not gone))


def _rename(schema: Struct, column: tuple[str, ...], new: str) -> Struct:
    old = _get(schema, _top_level(column, "RENAME"))
    renamed = Struct(tuple(replace(f, name=new) if f is old else f for f in schema.fields))
    check_duplicates(renamed)
    return renamed


def _move(schema: Struct, column: tuple[str, ...], position: Mapping[str, Any]) -> Struct:
    def move(parent: Struct) -> Struct:
        moved = _get(parent, column[-1])
        rest = Struct(tuple(f for f in parent.fields if f is not moved))
        return _insert(rest, moved, position)

    return _in_struct(schema, column[:-1], move)


def _insert(schema: Struct, field: Field, position: Mapping[str, Any] | None) -> Struct:
    """A struct with one more field: at the end, first, or after another."""
    fields = list(schema.fields)
    if position is None:
        index = len(fields)
    elif "after" in position:
        index = fields.index(_get(schema, position["after"])) + 1
    else:
        index = 0
    grown = Struct((*fields[:index], field, *fields[index:]))
    check_duplicates(grown)
    return grown


def _get(schema: Struct, name: str) -> Field:
    found = next((f for f in schema.fields if f.name.lower() == name.lower()), None)
    if found is None:
        raise error("COLUMN_UNKNOWN", columns=f"`{name}`", available=", ".join(schema.names))
    return found


def _field(schema: Struct, column: tuple[str, ...], change: Callable[[Field], Field]) -> Struct:
    """The schema with one field changed."""

    def exchange(parent: Struct) -> Struct:
        found = _get(parent, column[-1])
        return Struct(tuple(change(f) if f is found else f for f in parent.fields))

    return _in_struct(schema, column[:-1], exchange)


def _in_struct(schema: Struct, path: tuple[str, ...], change: Callable[[Struct], Struct]) -> Struct:
    """The schema with the struct at a path changed."""
    changed = _in_type(schema, path, change)
    assert isinstance(changed, Struct)
    return changed


def _in_type(kind: DataType, path: tuple[str, ...], change: Callable[[Struct], Struct]) -> DataType:
    if not path:
        if not isinstance(kind, Struct):
            raise error("UNSUPPORTED_CHANGE", change="a member of a column that is not a struct")
        return change(kind)
    name, rest = path[0], path[1:]
    if isinstance(kind, Struct):
        found = _get(kind, name)
        inside = replace(found, type=_in_type(found.type, rest, change))
        return Struct(tuple(inside if f is found else f for f in kind.fields))
    if isinstance(kind, Array) and name == _ELEMENT:
        return replace(kind, element=_in_type(kind.element, rest, change))
    if isinstance(kind, Map) and name == _KEY:
        return replace(kind, key=_in_type(kind.key, rest, change))
    if isinstance(kind, Map) and name == _VALUE:
        return replace(kind, value=_in_type(kind.value, rest, change))
    raise error("COLUMN_UNKNOWN", columns=f"`{name}`", available="none")


def _refuse(_schema: Struct, _column: tuple[str, ...], change: str) -> Struct:
    raise error("UNSUPPORTED_CHANGE", change=change)


def _widen(field: Field, given: Any) -> Field:
    kind = read_type(given, field.name)
    if not widens(field.type, kind):
        types = {"old": describe(field.type), "new": describe(kind)}
        reason = "values of it would be lost"
        raise error("SCHEMA_TYPE_CHANGE", column=field.name, **types, reason=reason)
    return replace(field, type=kind)


_OF_SCHEMAS: dict[str, Callable[[Struct, tuple[str, ...], Any], Struct]] = {
    "move": _move,
    "drop": _drop,
    "rename": _rename,
    "other": _refuse,
}
_OF_FIELDS: dict[str, Callable[[Field, Any], Field]] = {
    "comment": lambda field, text: _noted(field, _COMMENT, text),
    "default": lambda field, sql: _noted(field, CURRENT_DEFAULT, sql or None),
    "nullable": lambda field, value: replace(field, nullable=value),
    "type": _widen,
}
