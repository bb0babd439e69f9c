"""Dropped columns, whose values may still be in splits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from indextables.errors import error
from indextables.log.actions import INDEXING_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# the member of a table's configuration that holds their names
DROPPED_KEY = "indextables.dropped"


def dropped_columns(configuration: Mapping[str, str]) -> frozenset[str]:
    """Names of dropped columns, in lower case."""
    return frozenset(json.loads(configuration.get(DROPPED_KEY, "[]")))


def remember_dropped(
    configuration: Mapping[str, str], names: Iterable[str], known: Iterable[str] = ()
) -> dict[str, str]:
    """The configuration of a table after dropping columns; `known` are those that it has."""
    gone = dropped_columns(configuration) | {name.lower() for name in names}
    gone -= {name.lower() for name in known}
    if not gone:
        return without_dropped(configuration)
    roles = json.loads(configuration.get(INDEXING_KEY, "{}"))
    kept = {name: role for name, role in roles.items() if name.lower() not in gone}
    indexing = {INDEXING_KEY: _text(kept)} if roles else {}
    return {**configuration, **indexing, DROPPED_KEY: _text(sorted(gone))}


def index_alike(configuration: Mapping[str, str], column: str, new: str) -> dict[str, str]:
    """The configuration of a table with a new column that is indexed as another one."""
    roles = json.loads(configuration.get(INDEXING_KEY, "{}"))
    if column not in roles:
        return dict(configuration)
    return {**configuration, INDEXING_KEY: _text({**roles, new: roles[column]})}


def without_dropped(configuration: Mapping[str, str]) -> dict[str, str]:
    """The configuration once no split has values of dropped columns."""
    return {key: value for key, value in configuration.items() if key != DROPPED_KEY}


def check_not_dropped(
    names: Iterable[str], known: Iterable[str], configuration: Mapping[str, str]
) -> None:
    """Reject new columns with the name of a dropped one: old values would reappear."""
    gone = dropped_columns(configuration)
    before = {name.lower() for name in known}
    for name in names:
        if name.lower() in gone and name.lower() not in before:
            raise error("COLUMN_DROPPED", column=name)


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
