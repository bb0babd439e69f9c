"""Check data against a table's schema: what fits, what a merge adds, errors for the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.errors import error
from indextables.expr.values import INTEGRAL_BITS, is_plain_string, kind_of
from indextables.model.kinds import Family, names_of
from indextables.model.types import Array, Atomic, Decimal, Field, Map, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.model.types import DataType

_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_MOST_DIGITS = 38
_OTHERS = {
    ("float", "double"),
    ("byte", "float"),
    ("short", "float"),
    ("date", "timestamp_ntz"),
}


def check_duplicates(schema: Struct) -> None:
    """Reject names that differ only in case: Spark could not distinguish the columns."""
    seen: dict[str, str] = {}
    twice = []
    for name in schema.names:
        if name.lower() in seen:
            twice.append(f"`{name}`")
        seen[name.lower()] = name
    if twice:
        raise error("SCHEMA_DUPLICATE_COLUMN", columns=", ".join(twice))


_NOT_STORED = names_of(Family.INTERVAL)


def check_type(field: Field, parent: str = "") -> None:
    """Reject a column of a type that not all of Spark's writers support."""
    name = f"{parent}{field.name}"
    for kind in _leaves(field.type):
        if isinstance(kind, Struct):
            for member in kind.fields:
                check_type(member, f"{name}.")
        elif kind_of(kind) in _NOT_STORED:
            raise error("SCHEMA_UNSUPPORTED_TYPE", column=name, type=describe(kind))


def _leaves(kind: DataType) -> list[DataType]:
    """The types inside lists and maps."""
    if isinstance(kind, Array):
        return _leaves(kind.element)
    if isinstance(kind, Map):
        return [*_leaves(kind.key), *_leaves(kind.value)]
    return [kind]


def check_partition_type(field: Field) -> None:
    """Reject a nested column, and one whose equal values differ in bytes: a folder has one name."""
    collated = kind_of(field.type) == "string" and not is_plain_string(field.type)
    if collated or isinstance(field.type, Array | Map | Struct):
        raise error("PARTITION_TYPE", column=field.name, type=describe(field.type))


def fit_schema(data: Struct, table: Struct, *, merge: bool = False) -> Struct:
    """The table's schema after an append: unchanged, or evolved with `merge`.

    Columns are found by name in any case. A column the data lacks becomes null, one the table lacks
    is an error unless merged, a type must be the table's or one that fits into it (or, merging,
    one the table's can be widened to).
    """
    check_duplicates(data)
    known = {field.name.lower(): field for field in table.fields}
    given = {field.name.lower(): field for field in data.fields}
    problems: list[str] = []
    columns: list[Field] = []
    for field in table.fields:
        found = given.get(field.name.lower())
        if found is None:
            columns.append(field)
            continue
        kind = _fit(found.type, field.type, merge=merge)
        if kind is None:
            problems.append(
                f"column `{field.name}` is {describe(field.type)} in the table "
                f"and {describe(found.type)} in the data"
            )
        columns.append(replace(field, type=kind or field.type))
    added = [field for name, field in given.items() if name not in known]
    if added and not merge:
        names = ", ".join(f"`{field.name}`" for field in added)
        problems.append(f"the table has no column {names} (it has {', '.join(table.names)})")
    if problems:
        raise error("SCHEMA_MISMATCH", problems="; ".join(problems))
    return Struct((*columns, *(replace(field, nullable=True) for field in added)))


def describe(kind: DataType) -> str:
    """A type in SQL syntax."""
    if isinstance(kind, Struct):
        return f"struct<{', '.join(f'{f.name}: {describe(f.type)}' for f in kind.fields)}>"
    if isinstance(kind, Array):
        return f"array<{describe(kind.element)}>"
    if isinstance(kind, Map):
        return f"map<{describe(kind.key)}, {describe(kind.value)}>"
    return kind.name if isinstance(kind, Atomic) else str(kind.to_json())


def _fit(data: DataType, table: DataType, *, merge: bool) -> DataType | None:
    """The type of the column after the append; None if the data does not fit."""
    if data == table or widens(data, table):
        return table
    if isinstance(data, Struct) and isinstance(table, Struct):
        return _fit_struct(data, table, merge=merge)
    if isinstance(data, Array) and isinstance(table, Array):
        element = _fit(data.element, table.element, merge=merge)
        return element and Array(element, table.contains_null or data.contains_null)
    if isinstance(data, Map) and isinstance(table, Map):
        key = _fit(data.key, table.key, merge=False)
        value = _fit(data.value, table.value, merge=merge)
        nulls = table.value_contains_null or data.value_contains_null
        return Map(key, value, nulls) if key is not None and value is not None else None
    return _wider(table, data) if merge else None


def _fit_struct(data: Struct, table: Struct, *, merge: bool) -> DataType | None:
    given = {field.name.lower(): field for field in data.fields}
    known = {field.name.lower() for field in table.fields}
    members: list[Field] = []
    for field in table.fields:
        found = given.get(field.name.lower())
        kind = field.type if found is None else _fit(found.type, field.type, merge=merge)
        if kind is None:
            return None
        members.append(replace(field, type=kind))
    added = [field for name, field in given.items() if name not in known]
    if added and not merge:
        return None
    return Struct((*members, *(replace(field, nullable=True) for field in added)))


def check_widened(
    before: Struct, after: Struct, partition_columns: Sequence[str], key: Sequence[str]
) -> None:
    """Refuse to widen columns whose values are also stored outside of splits.

    Partition values are strings, which only integers share; keys are hashed by their type.
    """
    keys = {name.lower() for name in key}
    for field in after.fields:
        old = before.get(field.name)
        if old is None or old.type == field.type:
            continue
        integers = {kind_of(old.type), kind_of(field.type)} <= INTEGRAL_BITS.keys()
        if field.name.lower() in keys:
            reason = "it is part of the primary key"
        elif field.name in partition_columns and not integers:
            reason = "the table is partitioned by it"
        else:
            continue
        types = {"old": describe(old.type), "new": describe(field.type)}
        raise error("SCHEMA_TYPE_CHANGE", column=field.name, **types, reason=reason)


def _wider(table: DataType, data: DataType) -> DataType | None:
    """The narrowest type that holds the values of both without loss."""
    if widens(table, data):
        return data
    if not isinstance(table, Decimal) or not isinstance(data, Decimal):
        return None
    scale = max(table.scale, data.scale)
    whole = max(table.precision - table.scale, data.precision - data.scale)
    return Decimal(whole + scale, scale) if whole + scale <= _MOST_DIGITS else None


def widens(source: DataType, target: DataType) -> bool:
    """Whether every value of one type is a value of the other, read without loss."""
    one, other = kind_of(source), kind_of(target)
    if one == other == "string":
        return True
    if one in INTEGRAL_BITS and other in INTEGRAL_BITS:
        return INTEGRAL_BITS[one] <= INTEGRAL_BITS[other]
    if one in INTEGRAL_BITS and isinstance(target, Decimal):
        return target.precision - target.scale >= _DIGITS[one]
    if one in ("byte", "short", "integer") and other == "double":
        return True
    if isinstance(source, Decimal) and isinstance(target, Decimal):
        whole = target.precision - target.scale >= source.precision - source.scale
        return whole and target.scale >= source.scale
    return (one, other) in _OTHERS


def other_columns(before: Struct, now: Struct) -> list[str]:
    """Columns whose values of an older schema cannot be read as those of the newer one."""
    return [
        f"column `{field.name}` is {describe(old.type)}, now {describe(field.type)}"
        for field in now.fields
        if (old := before.get(field.name)) is not None and not _reads_as(old.type, field.type)
    ]


def _reads_as(old: DataType, now: DataType) -> bool:
    if old == now or widens(old, now):
        return True
    if isinstance(old, Struct) and isinstance(now, Struct):
        pairs = ((old.get(field.name), field) for field in now.fields)
        return all(was is None or _reads_as(was.type, field.type) for was, field in pairs)
    if isinstance(old, Array) and isinstance(now, Array):
        return _reads_as(old.element, now.element)
    if isinstance(old, Map) and isinstance(now, Map):
        return _reads_as(old.key, now.key) and _reads_as(old.value, now.value)
    return False


def differences(given: Struct, table: Struct) -> list[str]:
    """How columns of a statement differ from a table's, whatever their order and nullability."""
    asked = {field.name.lower(): field for field in given.fields}
    known = {field.name.lower(): field for field in table.fields}
    problems = [f"it has no column `{f.name}`" for name, f in asked.items() if name not in known]
    problems += [
        f"the statement lacks its column `{f.name}`"
        for name, f in known.items()
        if name not in asked
    ]
    problems += [
        f"column `{f.name}` is {describe(f.type)}, the statement says {describe(asked[name].type)}"
        for name, f in known.items()
        if name in asked and describe(asked[name].type) != describe(f.type)
    ]
    return problems
