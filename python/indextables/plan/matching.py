"""How columns of rows are searched without an index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from indextables.errors import error
from indextables.expr.values import kind_of
from indextables.plan.columns import is_tokenized

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from indextables.expr.predicate import Path
    from indextables.model.types import Field
    from indextables.plan.columns import Columns

MODES = {"indexquery": "any", "textsearch": "text", "fieldmatch": "exact"}
Described = dict[str, str]
# between the parts of a path
_DOT = re.compile(r"(?<!\\)\.")


def describe_rows(fields: Sequence[Field], columns: Columns | None, mode: str) -> list[Described]:
    """The columns of rows as the engine searches them.

    Rows of a table are searched as its index would be, where members of nested columns are whole
    values. Strings of other rows are text with the default tokenizer, or whole values if the mode
    requires them.
    """
    described = []
    for field in fields:
        known = None if columns is None else columns.get(field.name)
        found = {"name": field.name, "type": kind_of(field.type)}
        if known is not None:
            found |= {"role": known.role, "record": known.record, "tokenizer": known.analyzer}
        elif columns is None and found["type"] == "string" and mode != "exact":
            found |= {"role": "text", "record": "position", "tokenizer": "default"}
        described.append(found)
    return described


def analyzer_of(columns: Columns, name: str) -> str:
    """The tokenizer of a column, by its full name in the index."""
    info = columns.get(name)
    if info is None:
        raise error("COLUMN_UNKNOWN", columns=name, available=", ".join(columns.schema.names))
    return info.analyzer


def field_path(name: str, columns: Container[str]) -> Path:
    """The column that a field of a query is or lies inside of, and the path inside it.

    The inverse of `plan.columns.field_name`, as the engine resolves names.
    """
    parts = [part.replace("\\.", ".") for part in _DOT.split(name)]
    for cut in range(0 if name in columns else len(parts) - 1, 0, -1):
        column = ".".join(parts[:cut])
        if column in columns:
            return (column, *parts[cut:])
    return (name,)


def check_field(name: str, described: Sequence[Described], mode: str) -> None:
    """Raise an error if a column cannot be searched in this mode."""
    found = next(d for d in described if d["name"] == name)
    tokenized = is_tokenized(found.get("role", ""), found.get("tokenizer", ""))
    if mode == "text" and not tokenized:
        raise error("SEARCH_TEXT_ONLY", field=name)
    if mode == "exact" and tokenized:
        raise error("SEARCH_EXACT_ONLY", field=name)


def query_tree(text: str, field: str | None, mode: str) -> dict[str, Any]:
    """The engine's tree of a search query; without a field, over every column."""
    fields = [] if field is None else [field]
    return {"type": "search", "query": text, "fields": fields, "mode": mode}
