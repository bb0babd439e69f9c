"""The definition of a companion: its source and its columns, stored in its configuration. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from indextables.config import companion as keys
from indextables.config.settings import Settings
from indextables.engine.source import Address
from indextables.expr.values import kind_of
from indextables.log.actions import Action, Metadata
from indextables.log.protocol import COMPANION_ENABLED, check_maintainable, is_companion
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Transaction
from indextables.model.types import Field, Struct, render_schema
from indextables.plan.fields import plan_fields
from indextables.plan.indexing_modes import IndexingMode, check_mode, clause_problem
from indextables.sources.table import SourceSnapshot

PREFIX = "indextables.companion."
SOURCE_VERSION = PREFIX + "sourceVersion"
HYBRID, DISABLED, PARQUET_ONLY = "HYBRID", "DISABLED", "PARQUET_ONLY"
_ALWAYS_FAST = frozenset(
    {"byte", "short", "integer", "long", "float", "double", "boolean", "date", "timestamp"}
    | {"timestamp_ntz", "decimal", "day_time", "year_month"}
)


@dataclass(frozen=True)
class Companion:
    """The configuration of a companion; members are named as in the configuration.

    The source: where it is and in which format. The index: which columns are indexed and how.
    `source_version` is the version that the last complete sync indexed; without one, the index is
    not complete.
    """

    source_table_path: str
    source_format: str
    # the folder that relative paths start from
    parquet_storage_root: str | None = None
    iceberg_catalog: str | None = None
    iceberg_catalog_type: str | None = None
    iceberg_warehouse: str | None = None
    schema_source: str | None = None
    fast_field_mode: str = HYBRID
    indexing_modes: tuple[tuple[str, str], ...] = ()
    include_columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    hashed_fastfields_include: tuple[str, ...] = ()
    hashed_fastfields_exclude: tuple[str, ...] = ()
    where_clause: str | None = None
    source_id: str | None = None
    source_version: str | None = None
    columns: tuple[Address, ...] = ()

    def to_configuration(self) -> dict[str, str]:
        """The members in a table's configuration, without empty ones."""
        found = {COMPANION_ENABLED: "true"}
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and value != ():
                found[_key(each.name)] = _render(each.name, value)
        return found

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> Companion:
        """The companion that a configuration describes."""
        given = {
            each.name: _parse(each.name, configuration[_key(each.name)])
            for each in fields(cls)
            if _key(each.name) in configuration
        }
        return cls(**given)


def _key(name: str) -> str:
    head, *rest = name.split("_")
    return PREFIX + head + "".join(part.capitalize() for part in rest)


_LISTS = frozenset(
    {
        "include_columns",
        "exclude_columns",
        "hashed_fastfields_include",
        "hashed_fastfields_exclude",
    }
)


def _render(name: str, value: Any) -> str:
    if name == "columns":
        return json.dumps([address.to_json() for address in value], separators=(",", ":"))
    if name == "indexing_modes":
        return json.dumps(dict(value), separators=(",", ":"), ensure_ascii=False)
    return ",".join(value) if name in _LISTS else str(value)


def _parse(name: str, text: str) -> Any:
    if name == "columns":
        return tuple(Address.from_json(value) for value in json.loads(text))
    if name == "indexing_modes":
        return tuple(json.loads(text).items())
    return tuple(text.split(",")) if name in _LISTS else text


def with_metadata(metadata: Metadata, companion: Companion, more: Mapping[str, str]) -> Metadata:
    """The metadata with this companion's configuration in place of the previous one."""
    ours = {_key(each.name) for each in fields(Companion)}
    kept = {key: value for key, value in metadata.configuration.items() if key not in ours}
    return replace(metadata, configuration={**kept, **companion.to_configuration(), **more})


def source_table(companion: Companion, source: SourceSnapshot) -> dict[str, Any]:
    """The definition stored in every split, from which a lost log can be rebuilt."""
    return {
        "configuration": replace(companion, source_version=None).to_configuration(),
        "schema": render_schema(source.schema),
        "partition_columns": list(source.partition_columns),
    }


def on_companion(change: Transaction) -> Transaction:
    """A change that removes splits, if the table is a companion.

    Without them the index matches no version of its source, until the next sync.
    """
    build = change.rebuild
    assert build is not None

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        actions = build(now)
        check_maintainable(now.protocol, now.metadata, now.path)
        if not is_companion(now.metadata) or not actions:
            return actions
        kept = {k: v for k, v in now.metadata.configuration.items() if k != SOURCE_VERSION}
        return (replace(now.metadata, configuration=kept), *actions)

    return replace(change, rebuild=rebuild, on_companion=True)


def check_columns(companion: Companion, source: SourceSnapshot) -> Companion:
    """The companion with the columns of its clauses in the source's spelling.

    Raises an error for columns that do not exist or do not fit, and for modes that are unknown.
    """
    schema, partitions = source.schema, source.partition_columns
    include = _spelled("INCLUDE COLUMNS", companion.include_columns, schema, partitions)
    exclude = _spelled("EXCLUDE COLUMNS", companion.exclude_columns, schema, partitions)
    inside = [f.name for f in schema.fields if f.name not in partitions]
    indexed = [name for name in include or inside if name not in exclude]
    if not indexed:
        raise clause_problem("no column is left to index", inside)
    modes = dict(companion.indexing_modes)
    names = _within("INDEXING MODES", tuple(modes), schema, indexed)
    for name, mode in zip(names, modes.values(), strict=True):
        check_mode(_column(schema, name), mode)
    return replace(
        companion,
        include_columns=include,
        exclude_columns=exclude,
        indexing_modes=tuple(
            (name, str(IndexingMode.parse(mode)))
            for name, mode in zip(names, modes.values(), strict=True)
        ),
        hashed_fastfields_include=_within(
            "HASHED FASTFIELDS", companion.hashed_fastfields_include, schema, indexed
        ),
        hashed_fastfields_exclude=_within(
            "HASHED FASTFIELDS", companion.hashed_fastfields_exclude, schema, indexed
        ),
    )


def _spelled(
    clause: str, names: Sequence[str], schema: Struct, partitions: Sequence[str]
) -> tuple[str, ...]:
    """The names in the schema's spelling, without partition columns, which are not in splits."""
    found = _find(clause, names, schema)
    return tuple(name for name in found if name not in partitions)


def _within(
    clause: str, names: Sequence[str], schema: Struct, indexed: Sequence[str]
) -> tuple[str, ...]:
    found = _find(clause, names, schema)
    for name in found:
        if name not in indexed:
            raise clause_problem(f"{clause} names `{name}`, which is not indexed", indexed)
    return found


def _find(clause: str, names: Iterable[str], schema: Struct) -> tuple[str, ...]:
    by_name = {field.name.lower(): field.name for field in schema.fields}
    found: list[str] = []
    for name in names:
        known = by_name.get(name.lower())
        if known is None:
            raise clause_problem(f"{clause} names `{name}`, which does not exist", schema.names)
        if known in found:
            raise clause_problem(f"{clause} names `{name}` twice", schema.names)
        found.append(known)
    return tuple(found)


def follow_names(companion: Companion, source: SourceSnapshot) -> Companion:
    """The companion with the column names of a version of the source.

    Columns are identified by their ids or their names in files; dropped ones are left out.
    """
    if not companion.columns:
        return companion
    now = {_identity(address): address.name for address in source.columns}
    names = {address.name: now.get(_identity(address)) for address in companion.columns}
    known = {*source.schema.names}

    def renamed(given: Iterable[str]) -> tuple[str, ...]:
        found = (names.get(name, name if name in known else None) for name in given)
        return tuple(name for name in found if name is not None)

    modes = [(renamed([name]), mode) for name, mode in companion.indexing_modes]
    return replace(
        companion,
        include_columns=renamed(companion.include_columns),
        exclude_columns=renamed(companion.exclude_columns),
        indexing_modes=tuple((name[0], mode) for name, mode in modes if name),
        hashed_fastfields_include=renamed(companion.hashed_fastfields_include),
        hashed_fastfields_exclude=renamed(companion.hashed_fastfields_exclude),
    )


def _identity(address: Address) -> tuple[Any, ...]:
    """What identifies a column after a rename."""
    if address.id is None and not address.names:
        return ("name", address.name)
    return (address.id, *address.names)


def plan_companion_fields(
    companion: Companion,
    schema: Struct,
    partitions: Sequence[str],
    settings: Settings,
    *,
    bounded: bool = True,
) -> list[dict[str, Any]]:
    """The fields of the splits: which columns are searched, and which have a columnar copy.

    `bounded` rejects more string columns with a copy than were requested.
    """
    modes, most = dict(companion.indexing_modes), settings.get(keys.MAX_HASHED_FASTFIELDS)
    planned = plan_fields(schema, settings, partitions)
    strings = [
        field["name"]
        for field in planned
        if _is_indexed(companion, field["name"])
        and _kind(schema, field["name"]) == "string"
        and IndexingMode.parse(modes.get(field["name"], "string")).role == "string"
    ]
    chosen = companion.hashed_fastfields_include or companion.hashed_fastfields_exclude
    if bounded and companion.fast_field_mode == HYBRID and not chosen and len(strings) > most:
        problem = (
            f"{len(strings)} string columns would get a columnar copy, more than "
            f"{keys.MAX_HASHED_FASTFIELDS.full_key} ({most}); say which with HASHED FASTFIELDS"
        )
        raise clause_problem(problem, strings)
    kept = {name.lower() for name in settings.get(keys.STORED_COLUMNS)}
    return [_field(companion, schema, field, modes, kept) for field in planned]


def _field(
    companion: Companion,
    schema: Struct,
    planned: Mapping[str, Any],
    modes: Mapping[str, str],
    kept: set[str],
) -> dict[str, Any]:
    name = planned["name"]
    kind = _kind(schema, name)
    field = {**planned, "stored": True}
    if name.lower() in kept:
        field["kept"] = True
    if not _is_indexed(companion, name):
        return field | {"indexed": False, "fast": False, "stats": False}
    if kind == "string" and name in modes:
        mode = IndexingMode.parse(modes[name])
        field["role"] = mode.role
        if mode.role == "text":
            field |= {"tokenizer": mode.tokenizer, "record": mode.record}
        if mode.role in ("json", "ip"):
            field["stats"] = False
    return field | {"fast": _is_fast(companion, name, kind, field["role"])}


def _is_fast(companion: Companion, name: str, kind: str, role: str) -> bool:
    if role == "text" or kind == "binary" or companion.fast_field_mode == PARQUET_ONLY:
        return False
    if companion.fast_field_mode == DISABLED or kind in _ALWAYS_FAST or role == "ip":
        return True
    if kind != "string" or role == "json":
        return False
    include = companion.hashed_fastfields_include
    return name in include if include else name not in companion.hashed_fastfields_exclude


def _is_indexed(companion: Companion, name: str) -> bool:
    included = not companion.include_columns or name in companion.include_columns
    return included and name not in companion.exclude_columns


def _kind(schema: Struct, name: str) -> str:
    return kind_of(_column(schema, name).type)


def _column(schema: Struct, name: str) -> Field:
    field = schema.get(name)
    assert field is not None
    return field


def fits(companion: Companion, metadata: Metadata, source: SourceSnapshot) -> bool:
    """Whether splits of a companion can answer for a version of its source.

    Columns may be added, dropped and renamed; after a change of a column type or of the partition
    columns, no split can be used until it is rebuilt.
    """
    before = TableShape(metadata.schema, companion.columns, metadata.partition_columns)
    return before.fits(TableShape(source.schema, source.columns, source.partition_columns))


@dataclass(frozen=True)
class TableShape:
    """The columns of a source at some version, and their addresses in files."""

    schema: Struct
    columns: tuple[Address, ...]
    partition_columns: tuple[str, ...]

    def fits(self, other: TableShape) -> bool:
        """Whether splits of this shape can answer for the other one."""
        if self.partition_columns != other.partition_columns:
            return False
        before, now = self._types(), other._types()
        return all(before[key] == kind for key, kind in now.items() if key in before)

    def _types(self) -> dict[tuple[Any, ...], Any]:
        """The types of columns by their identity: an id, or a name in files."""
        known = {address.name: address for address in self.columns}
        return {
            ("partition", field.name)
            if field.name in self.partition_columns
            else _identity(known.get(field.name, Address(field.name))): field.type
            for field in self.schema.fields
        }


# members of a companion that splits do not depend on
_NOT_IN_SPLITS = ("where_clause", "source_id", "source_version", "columns", "parquet_storage_root")


def same_index(one: Companion, other: Companion) -> bool:
    """Whether two companions have the same splits: the same columns, indexed the same way."""
    names = [each.name for each in fields(Companion) if each.name not in _NOT_IN_SPLITS]
    return all(says_alike(getattr(one, name), getattr(other, name)) for name in names)


def says_alike(said: Any, known: Any) -> bool:
    """Whether a clause equals the stored one, ignoring case and order of columns."""
    if isinstance(said, tuple):
        return sorted(map(_spelling, said)) == sorted(map(_spelling, known))
    return bool(said == known)


def _spelling(given: str | tuple[str, str]) -> tuple[str, ...]:
    """A column, or a column and its mode, normalized for comparison; patterns keep their case."""
    if isinstance(given, str):
        return (given.lower(),)
    column, mode = given
    return column.lower(), str(IndexingMode.parse(mode))
