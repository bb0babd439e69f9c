"""The primary key of a table: its properties, checked against its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.config import rows
from indextables.errors import error
from indextables.expr.values import is_plain_string, kind_of
from indextables.model.kinds import KINDS
from indextables.plan.schemas import describe

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from indextables.config.option import Option
    from indextables.config.settings import Settings
    from indextables.model.types import Struct

_KEY_ROLES = ("string", "auto")
# the columns of a row id: the split, and the row's number in it
ROW_ID_NAMES = ("_split", "_doc")


@dataclass(frozen=True)
class KeySpec:
    """How rows of the same key are merged.

    `inside` is the key without partition columns: what is hashed, and what is in splits.
    """

    columns: tuple[str, ...]
    inside: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    engine: str = "deduplicate"
    rowkind: str | None = None
    ignore_delete: bool = False
    # whether a key names its partition; if not, its row may be in any
    in_partition: bool = True
    target_rows: int = 2_000_000
    max_buckets: int = -1
    assigners: int = 1


def plan_key(
    schema: Struct, partition_columns: Sequence[str], settings: Settings
) -> KeySpec | None:
    """The key in the settings, or None if the table has none."""
    columns = _named(schema, rows.PRIMARY_KEY, settings)
    if not columns:
        return None
    for name in columns:
        field = schema.get(name)
        assert field is not None, name
        collated = kind_of(field.type) == "string" and not is_plain_string(field.type)
        if not KINDS[kind_of(field.type)].is_key or collated:
            raise error("KEY_TYPE", type=describe(field.type))
    inside = tuple(name for name in columns if name not in partition_columns)
    if not inside:
        raise error("PRIMARY_KEY_PARTITIONS", columns=", ".join(columns))
    kind = settings.get(rows.ROWKIND_FIELD)
    given = (settings.get(rows.INITIAL_BUCKETS), settings.get(rows.ASSIGNER_PARALLELISM))
    return KeySpec(
        columns=columns,
        inside=inside,
        sequence=_named(schema, rows.SEQUENCE_FIELD, settings),
        engine=settings.get(rows.MERGE_ENGINE),
        rowkind=_found(schema, (kind,), rows.ROWKIND_FIELD.key)[0] if kind else None,
        ignore_delete=settings.get(rows.IGNORE_DELETE),
        in_partition=set(partition_columns) <= set(columns),
        target_rows=settings.get(rows.TARGET_ROW_NUM),
        max_buckets=settings.get(rows.MAX_BUCKETS),
        assigners=min((n for n in given if n is not None), default=1),
    )


def _named(schema: Struct, option: Option[tuple[str, ...]], settings: Settings) -> tuple[str, ...]:
    given = settings.get(option)
    return _found(schema, given, option.key)


def _found(schema: Struct, names: Sequence[str], key: str) -> tuple[str, ...]:
    """Column names as the schema has them."""
    by_name = {name.lower(): name for name in schema.names}
    for name in names:
        if name.lower() not in by_name:
            raise error(
                "KEY_COLUMN_UNKNOWN", key=key, column=name, available=", ".join(schema.names)
            )
    return tuple(dict.fromkeys(by_name[name.lower()] for name in names))


def check_row_id(names: Collection[str], command: str) -> None:
    """Raise if a column of the table hides one of the row id."""
    for name in ROW_ID_NAMES:
        if name in names:
            raise error("COLUMN_RESERVED", column=name, command=command)


def check_key_fields(spec: KeySpec, fields: Sequence[Mapping[str, Any]]) -> None:
    """Key columns must be found by their value: indexed as they are."""
    by_name = {field["name"]: field for field in fields}
    check_row_id(by_name, "a primary key")
    for name in spec.inside:
        field = by_name[name]
        if field["role"] not in _KEY_ROLES or not field["indexed"]:
            raise error("PRIMARY_KEY_INDEXING", column=name)


def check_same_key(settings: Settings, configuration: Mapping[str, str]) -> None:
    """A table's key never changes: rows were written by it."""
    given = settings.get(rows.PRIMARY_KEY)
    wanted = {name.lower() for name in given}
    text = configuration.get(rows.PRIMARY_KEY.key, "")
    existing = {name.strip().lower() for name in text.split(",") if name.strip()}
    if wanted != existing:
        asked = ", ".join(given) or "none"
        raise error("PRIMARY_KEY_CHANGED", given=asked, existing=text or "none")


def remember_key(settings: Settings) -> dict[str, str]:
    """The keys of row-level changes as stored in a table's configuration."""
    return {
        option.key: _text(settings.get(option))
        for option in rows.OPTIONS
        if settings.is_set(option) and settings.get(option) is not None
    }


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
