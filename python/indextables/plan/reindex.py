"""What REINDEX makes of a table's indexing options: each column keeps what is not changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.config import indexing
from indextables.config.settings import resolve
from indextables.errors import error
from indextables.log.actions import INDEXING_KEY
from indextables.plan.fields import PER_FIELD, check_names, filters_of, plan_field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.config.settings import Settings
    from indextables.log.actions import Metadata
    from indextables.model.types import Field

_OF_TEXT = {
    "tokenizer": indexing.TOKENIZER.default,
    "record": indexing.RECORD.default,
    "token_length": indexing.TOKEN_LENGTH.default,
}


@dataclass(frozen=True)
class Reindexing:
    """The configuration of the table afterwards, and the columns that change."""

    configuration: Mapping[str, str]
    columns: tuple[str, ...]


def plan_reindex(metadata: Metadata, given: Settings) -> Reindexing:
    """Apply the indexing options of some columns to those that the table remembers."""
    configuration = metadata.configuration
    if INDEXING_KEY not in configuration:
        raise error("REINDEX_FOREIGN")
    check_names(metadata.schema, given, metadata.partition_columns, frozenset())
    named = {name for option in PER_FIELD for name in given.per_field(option)}
    roles: dict[str, dict[str, Any]] = json.loads(configuration[INDEXING_KEY])
    changed = []
    for field in metadata.schema.fields:
        if field.name.lower() not in named:
            continue
        known = roles.get(field.name) or plan_field(field, resolve())
        roles[field.name] = _changed(field, known, given)
        if roles[field.name] != known:
            changed.append(field.name)
    text = json.dumps(roles, separators=(",", ":"), ensure_ascii=False)
    kept = {key: value for key, value in configuration.items() if not _names(key, changed)}
    return Reindexing({**kept, INDEXING_KEY: text}, tuple(changed))


def _names(key: str, columns: list[str]) -> bool:
    """Whether a table property says how one of these columns is indexed."""
    names = {column.lower() for column in columns}
    return any(
        key.lower() == f"{option.full_key}.{name}".lower() for option in PER_FIELD for name in names
    )


def _changed(field: Field, known: Mapping[str, Any], given: Settings) -> dict[str, Any]:
    name, planned = field.name.lower(), plan_field(field, given)
    entry = dict(known)
    if name in given.per_field(indexing.TYPEMAP):
        if planned["role"] != known["role"]:
            entry |= {"role": planned["role"], "fast": planned["fast"]}
        entry.pop("trigrams", None)
        entry |= {"trigrams": True} if planned.get("trigrams") else {}
    if entry["role"] == "text":
        return entry | _text_options(entry, given, name)
    of_text = [o for o in PER_FIELD if o is not indexing.TYPEMAP and name in given.per_field(o)]
    if of_text:
        raise error(
            "REINDEX_NOT_TEXT", key=of_text[0].full_key, column=field.name, role=entry["role"]
        )
    return {key: value for key, value in entry.items() if key not in _OF_TEXT}


def _text_options(entry: Mapping[str, Any], given: Settings, name: str) -> dict[str, Any]:
    """The tokenizer and its filters, what is recorded, and the limit of a text column."""
    before = {**_OF_TEXT, **entry}
    base, *filters = before["tokenizer"].split("+")
    base = given.per_field(indexing.TOKENIZER).get(name, base)
    kept = {each.partition("(")[0]: each for each in filters} | filters_of(given, name)
    ordered = [kept[each] for each in ("fold", "stop", "same") if kept.get(each)]
    return {
        "tokenizer": "+".join([base, *ordered]),
        "record": given.per_field(indexing.FIELD_RECORD).get(name, before["record"]),
        "token_length": given.per_field(indexing.FIELD_TOKEN_LENGTH).get(
            name, before["token_length"]
        ),
    }
