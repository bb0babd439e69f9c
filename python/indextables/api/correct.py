"""`Did you mean`: a query without matches, with its misspelled words replaced."""

from __future__ import annotations

import re

from indextables.api.ask import plan_exactly, predicates_of
from indextables.errors import InvalidError
from indextables.read.request import ScanRequest
from indextables.read.scan import count_scan
from indextables.read.suggest import suggest_words, text_columns
from indextables.read.table import OpenTable

# a word, the field it is looked for in, and what would make it a pattern, a range or a field
_WORD = re.compile(r"(?:([\w.@-]+):)?([^\W\d_]\w{2,})(?![\w*?~:/])")
_OPERATORS = ("AND", "OR", "NOT", "IN", "TO")
_MOST_WORDS = 8


def correct_query(table: OpenTable, query: str, where: str | None = None) -> str | None:
    """A query that finds rows, for one that finds none; None if there is no suggestion."""
    try:
        if _count(table, query, where):
            return None
        corrected = _replace_words(table, query)
        found = corrected != query and _count(table, corrected, where) > 0
    except InvalidError:  # a query that cannot be run is reported where it is run
        return None
    return corrected if found else None


def _replace_words(table: OpenTable, query: str) -> str:
    """The query with the words that no row has replaced by similar ones."""
    parts, end = [], 0
    for found in list(_WORD.finditer(query))[:_MOST_WORDS]:
        field, word = found.groups()
        better = None if word in _OPERATORS else _similar(table, field, word)
        if better is not None:
            parts += [query[end : found.start(2)], better]
            end = found.end(2)
    return "".join([*parts, query[end:]])


def _similar(table: OpenTable, field: str | None, word: str) -> str | None:
    """The word that was probably meant by a word that no row has."""
    texts = text_columns(table)
    columns = texts if field is None else [name for name in texts if name == field]
    if not columns or any(_count(table, f"{name}:{word}") for name in columns):
        return None
    similar = suggest_words(table, columns, word, 1, similar=True)
    return similar[0][0] if similar else None


def _count(table: OpenTable, query: str, where: str | None = None) -> int:
    request = ScanRequest(predicates=predicates_of(table, where, query), here=True)
    return count_scan(plan_exactly(table, request))
