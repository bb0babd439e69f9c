"""How columns are indexed when they are written, and how the table stores that for appends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from indextables.config import indexing, log
from indextables.errors import error
from indextables.expr.values import NESTED, kind_of
from indextables.log.actions import INDEXING_KEY
from indextables.model.kinds import KINDS
from indextables.plan.dropped import dropped_columns
from indextables.plan.keys import check_key_fields, plan_key
from indextables.plan.schemas import check_partition_type, check_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.config.option import Option
    from indextables.config.settings import Settings
    from indextables.model.types import Field, Struct

_REMEMBERED = (
    "role",
    "tokenizer",
    "record",
    "token_length",
    "fast",
    "stored",
    "indexed",
    "trigrams",
)
PER_FIELD: tuple[Option[Any], ...] = (
    indexing.TYPEMAP,
    indexing.TOKENIZER,
    indexing.ASCII_FOLDING,
    indexing.STOP_WORDS,
    indexing.SYNONYMS,
    indexing.FIELD_RECORD,
    indexing.FIELD_TOKEN_LENGTH,
)
_LISTS: tuple[Option[tuple[str, ...]], ...] = (
    indexing.FAST,
    indexing.NOT_FAST,
    indexing.STORE_ONLY,
    indexing.INDEX_ONLY,
)


def plan_fields(
    schema: Struct,
    settings: Settings,
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """The writer's field list for the columns that go into splits, in schema order.

    On an append `configuration` is the table's: it determines the fields, and an option that
    contradicts it is an error.
    """
    check_names(schema, settings, partition_columns, dropped_columns(configuration or {}))
    remembered = json.loads((configuration or {}).get(INDEXING_KEY, "{}"))
    with_stats = _stats_columns(schema, settings, partition_columns)
    fields = []
    for field in schema.fields:
        if field.name in partition_columns:
            check_partition_type(field)
            continue
        planned = plan_field(field, settings)
        known = remembered.get(field.name)
        if known is None:
            check_type(field)
            _check_readable(field, planned)
        else:
            _check_same(field, planned, known, settings)
            planned |= known
        fields.append({"name": field.name, **planned, "stats": field.name in with_stats})
    key = plan_key(schema, partition_columns, settings)
    if key is not None:
        check_key_fields(key, fields)
    return fields


def check_some_field(fields: Sequence[Mapping[str, Any]], partition_columns: Sequence[str]) -> None:
    """Reject a partitioning by all columns: a split would have nothing to store of its rows."""
    if partition_columns and not fields:
        raise error("PARTITION_ALL_COLUMNS", columns=", ".join(partition_columns))


def remember_fields(fields: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The fields as stored in a table's configuration, for appends and for planning."""
    kept = {
        field["name"]: {key: field[key] for key in _REMEMBERED if key in field} for field in fields
    }
    return {INDEXING_KEY: json.dumps(kept, separators=(",", ":"), ensure_ascii=False)}


def remember_layout(settings: Settings) -> dict[str, str]:
    """The layout as stored in a table's configuration, the default for writes and merges."""
    if not settings.is_set(indexing.LAYOUT):
        return {}
    return {indexing.LAYOUT.full_key: settings.get(indexing.LAYOUT)}


def plan_field(field: Field, settings: Settings) -> dict[str, Any]:
    """How a column is indexed by the options that name it."""
    name = field.name.lower()
    is_string = kind_of(field.type) == "string"
    role = settings.per_field(indexing.TYPEMAP).get(name, "string" if is_string else "auto")
    if not is_string and role != "auto":
        raise error("INDEXING_BAD_ROLE", column=field.name, type=_type_name(field), role=role)
    role, _, ngram = role.partition("+")
    lists = {option.key: _listed(settings, option, name) for option in _LISTS}
    planned: dict[str, Any] = {
        "role": role,
        "fast": _is_fast(field, role, settings, lists),
        "stored": not lists[indexing.INDEX_ONLY.key],
        "indexed": not lists[indexing.STORE_ONLY.key],
    }
    if ngram:
        planned["trigrams"] = True
    if role == "text":
        planned |= {
            "tokenizer": _tokenizer(settings, name),
            "record": settings.per_field(indexing.FIELD_RECORD).get(
                name, settings.get(indexing.RECORD)
            ),
            "token_length": settings.per_field(indexing.FIELD_TOKEN_LENGTH).get(
                name, settings.get(indexing.TOKEN_LENGTH)
            ),
        }
    return planned


def _tokenizer(settings: Settings, name: str) -> str:
    """The tokenizer of a column, with its filters, by its name in the index."""
    base = settings.per_field(indexing.TOKENIZER).get(name, "default")
    return "+".join([base, *filter(None, filters_of(settings, name).values())])


def filters_of(settings: Settings, name: str) -> dict[str, str]:
    """The filters of a column's tokenizer that are set, by their names; empty if turned off."""
    fold = settings.per_field(indexing.ASCII_FOLDING).get(name)
    stop_words = settings.per_field(indexing.STOP_WORDS).get(name)
    synonyms = settings.per_field(indexing.SYNONYMS).get(name)
    found: dict[str, str] = {}
    if fold is not None:
        found["fold"] = "fold" if fold else ""
    if stop_words is not None:
        found["stop"] = f"stop({'|'.join(stop_words)})" if stop_words else ""
    if synonyms is not None:
        groups = "|".join("=".join(group) for group in synonyms)
        found["same"] = f"same({groups})" if groups else ""
    return found


def _is_fast(field: Field, role: str, settings: Settings, lists: Mapping[str, bool]) -> bool:
    if role == "text" or kind_of(field.type) == "binary":
        return False
    nested = role == "json" or kind_of(field.type) in NESTED
    if nested and settings.get(indexing.JSON_MODE) == "minimal":
        return lists[indexing.FAST.key]
    return not lists[indexing.NOT_FAST.key]


def _check_readable(field: Field, planned: Mapping[str, Any]) -> None:
    """A column that is neither stored nor columnar would be lost."""
    nested = planned["role"] == "json" or kind_of(field.type) in NESTED
    if not planned["stored"] and (nested or not planned["fast"]):
        raise error("INDEXING_UNREADABLE", key=indexing.INDEX_ONLY.full_key, column=field.name)


def without_effect(schema: Struct, settings: Settings) -> tuple[str, ...]:
    """The columns that `indexing.fastfields` names although they never have a columnar copy."""
    typemap = settings.per_field(indexing.TYPEMAP)
    return tuple(
        field.name
        for field in schema.fields
        if _listed(settings, indexing.FAST, field.name.lower())
        and (
            typemap.get(field.name.lower()) in ("text", "text+ngram")
            or kind_of(field.type) == "binary"
        )
    )


def _listed(settings: Settings, option: Option[tuple[str, ...]], name: str) -> bool:
    return name in {listed.lower() for listed in settings.get(option)}


def check_names(
    schema: Struct, settings: Settings, partition_columns: Sequence[str], dropped: frozenset[str]
) -> None:
    """Every column an indexing option names must exist, or have existed, and be inside splits."""
    partitions = {name.lower() for name in partition_columns}
    known = {name.lower() for name in schema.names}
    named = [(option, column) for option in PER_FIELD for column in settings.per_field(option)]
    named += [(option, column) for option in _LISTS for column in settings.get(option)]
    for option, column in named:
        if column.lower() in dropped - known:
            continue
        if column.lower() not in known:
            raise error(
                "INDEXING_UNKNOWN_COLUMN",
                key=option.full_key,
                column=column,
                available=", ".join(schema.names),
            )
        if column.lower() in partitions:
            raise error("INDEXING_PARTITION_COLUMN", key=option.full_key, column=column)


def _check_same(
    field: Field, planned: Mapping[str, Any], known: Mapping[str, Any], settings: Settings
) -> None:
    """An option given on append must agree with the table."""
    name = field.name.lower()
    given: tuple[tuple[str, Option[Any]], ...] = (
        ("role", indexing.TYPEMAP),
        ("trigrams", indexing.TYPEMAP),
        ("tokenizer", indexing.TOKENIZER),
        ("tokenizer", indexing.ASCII_FOLDING),
        ("tokenizer", indexing.STOP_WORDS),
        ("tokenizer", indexing.SYNONYMS),
        ("record", indexing.FIELD_RECORD),
        ("token_length", indexing.FIELD_TOKEN_LENGTH),
    )
    for key, option in given:
        if name in settings.per_field(option) and planned.get(key) != known.get(key):
            raise error(
                "INDEXING_CHANGED",
                column=field.name,
                existing=known.get(key),
                given=planned.get(key),
            )


def _stats_columns(
    schema: Struct, settings: Settings, partition_columns: Sequence[str]
) -> frozenset[str]:
    """The columns that get minimum and maximum: the first that can have them, up to a limit."""
    chosen = settings.get(log.STATS_COLUMNS)
    eligible = [
        field.name
        for field in schema.fields
        if field.name not in partition_columns
        and KINDS[kind_of(field.type)].has_stats
        and settings.per_field(indexing.TYPEMAP).get(field.name.lower()) not in ("json", "ip")
    ]
    if chosen:
        wanted = {name.lower() for name in chosen}
        return frozenset(name for name in eligible if name.lower() in wanted)
    most = settings.get(log.STATS_NUM_COLUMNS)
    return frozenset(eligible if most < 0 else eligible[:most])


def _type_name(field: Field) -> str:
    value = field.type.to_json()
    return value if isinstance(value, str) else str(value["type"])
