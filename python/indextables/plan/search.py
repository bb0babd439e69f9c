"""The rules of search predicates: where they are allowed, and for which columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from indextables.errors import error
from indextables.expr.predicate import Predicate, Search, searches_in
from indextables.plan.columns import field_name

if TYPE_CHECKING:
    from indextables.plan.columns import Columns

QueryCheck = Callable[[str, list[str]], object]


def check_search(
    search: Search, columns: Columns, max_unqualified: int, check_query: QueryCheck | None
) -> None:
    """Raise the error of an invalid search predicate, before any task starts."""
    if search.path:
        _check_column(search, columns)
    else:
        for info in columns.searchable:
            _check_kind(search, info.name, tokenized=info.tokenized)
        few = not max_unqualified or len(columns.searchable) <= max_unqualified
        if not few and not is_qualified(search.query):
            raise error(
                "SEARCH_TOO_MANY_FIELDS", fields=len(columns.searchable), limit=max_unqualified
            )
    if check_query is not None:
        check_query(search.query, [field_name(search.path)] if search.path else [])


def plan_snippet(predicates: Iterable[Predicate], columns: Columns) -> dict[str, str] | None:
    """The column of snippets: the one that is searched, else the first text column."""
    searched = [s.path for predicate in predicates for s in searches_in(predicate) if s.path]
    texts = [(c.name,) for c in columns.searchable if c.tokenized]
    found = [*searched, *texts]
    return {"field": ".".join(found[0])} if found else None


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
