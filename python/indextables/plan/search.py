"""The rules of search predicates: where they are allowed, and for which columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indextables.engine.query import plain_query
from indextables.errors import InvalidError, error
from indextables.expr.predicate import Predicate, Search, searches_in
from indextables.expr.values import kind_of
from indextables.plan.columns import field_name

if TYPE_CHECKING:
    from indextables.plan.columns import Columns

# what is said of a text that is not a query
TYPED = frozenset({"QUERY_SYNTAX", "QUERY_UNKNOWN_FIELD", "QUERY_PARTITION_FIELD"})
QueryCheck = Callable[[str, list[str]], object]


def settle_search(
    search: Search, columns: Columns, max_unqualified: int, check_query: QueryCheck | None
) -> Search:
    """The search to run; errors in it are raised before any task starts.

    TEXTSEARCH accepts any string: one that is not a query is searched as plain words.
    """
    try:
        _check_search(search, columns, max_unqualified, check_query)
    except InvalidError as problem:
        if search.mode != "text" or problem.code not in TYPED:
            raise
        search = replace(search, query=plain_query(search.query))
        _check_search(search, columns, max_unqualified, check_query)
    return search


def _check_search(
    search: Search, columns: Columns, max_unqualified: int, check_query: QueryCheck | None
) -> None:
    if search.path:
        _check_column(search, columns)
    else:
        for info in columns.searchable if search.mode != "any" else ():
            _check_kind(search, info.name, tokenized=info.tokenized)
        few = not max_unqualified or len(columns.searchable) <= max_unqualified
        if not few and not is_qualified(search.query):
            raise error(
                "SEARCH_TOO_MANY_FIELDS", fields=len(columns.searchable), limit=max_unqualified
            )
    if check_query is None:
        return
    try:
        check_query(search.query, [field_name(search.path)] if search.path else [])
    except InvalidError as problem:
        field = problem.context.get("field")
        if problem.code == "QUERY_UNKNOWN_FIELD" and field in columns.partition_names:
            raise error("QUERY_PARTITION_FIELD", field=field) from None
        raise


@dataclass(frozen=True)
class Snippet:
    """How `_snippet` shows the matching part of rows.

    `columns` are those it is cut from: by default the one that is searched, else the first text.
    Up to `fragments` parts of `size` characters are shown of each; `tags` mark matching words.
    """

    columns: tuple[str, ...] = ()
    fragments: int = 1
    size: int = 150
    tags: tuple[str, str] = ("<b>", "</b>")


def plan_snippet(
    predicates: Iterable[Predicate], columns: Columns, wanted: Snippet
) -> dict[str, Any] | None:
    """The engine's option of snippets; None if there is no column to cut them from."""
    searched = [s.path for predicate in predicates for s in searches_in(predicate) if s.path]
    texts = [(c.name,) for c in columns.searchable if c.tokenized]
    found = [".".join(path) for path in [*searched, *texts]][:1]
    for name in wanted.columns:
        info = columns.get(name)
        if info is None or kind_of(info.type) != "string":
            available = ", ".join(i.name for i in columns.infos if kind_of(i.type) == "string")
            raise error("COLUMN_UNKNOWN", columns=name, available=available)
    fields = list(wanted.columns) or found
    if not fields:
        return None
    options = {"fields": fields, "fragments": wanted.fragments, "max_chars": wanted.size}
    return options | {"pre": wanted.tags[0], "post": wanted.tags[1]}


def _check_column(search: Search, columns: Columns) -> None:
    info = columns.at(search.path)
    name = field_name(search.path)
    if info is None:
        raise error("QUERY_UNKNOWN_FIELD", field=name, available=", ".join(columns.schema.names))
    _check_kind(search, name, tokenized=info.tokenized)


def _check_kind(search: Search, name: str, *, tokenized: bool) -> None:
    if search.mode == "text" and not tokenized:
        raise error("SEARCH_TEXT_ONLY", field=name)
    if search.mode == "exact" and tokenized:
        raise error("SEARCH_EXACT_ONLY", field=name)


def is_qualified(query: str) -> bool:
    """Whether every term of a search query names its field, as `level:ERROR AND code:(1 OR 2)`.

    Errs on the side of no.
    """
    at, pending_field = 0, False
    while at < len(query):
        char = query[at]
        if char.isspace() or char in "+-()":
            if char == "(" and pending_field:
                at = _skip_group(query, at)
                pending_field = False
                continue
            at += 1
            continue
        end, word = _word(query, at)
        if pending_field:
            pending_field = word == "IN" and not query[at:end].startswith('"')
        elif word in ("AND", "OR", "NOT") or word.startswith("^"):
            pass
        elif query[end : end + 1] == ":":
            pending_field, end = True, end + 1
        else:
            return False
        at = end
    return not pending_field


_CLOSING = {'"': '"', "'": "'", "[": "]}", "{": "]}", "/": "/"}


def _word(query: str, start: int) -> tuple[int, str]:
    """The end and the content of a word, a quoted string or a bracketed range."""
    closing = _CLOSING.get(query[start])
    at = start + 1
    if closing is not None:
        while at < len(query) and query[at] not in closing:
            at += 2 if query[at] == "\\" else 1
        at += 1
    while at < len(query) and not query[at].isspace() and query[at] not in '():"':
        at += 2 if query[at] == "\\" else 1
    return min(at, len(query)), query[start:at]


def _skip_group(query: str, start: int) -> int:
    depth, at = 0, start
    while at < len(query):
        if query[at] == "\\":
            at += 1
        elif query[at] == '"':
            at = _word(query, at)[0] - 1
        elif query[at] in "()":
            depth += 1 if query[at] == "(" else -1
            if depth == 0:
                return at + 1
        at += 1
    return at
