"""Queries of the engine, and the query language that it parses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables._native import Fields, Query
from indextables._native import analyze as _analyze

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "EVERY_ROW",
    "Fields",
    "Query",
    "Token",
    "analyze",
    "analyze_rows",
    "at_time",
    "match_rows",
    "parse_query",
    "plain_query",
]

EVERY_ROW = Query({"type": "all"})


def parse_query(
    text: str, fields: Fields, default_fields: Sequence[str] = (), mode: str = "any"
) -> Query:
    """Parse a search query; an error names the position.

    `fields` are the columns a query may name. Words without a field are looked up in
    `default_fields`, or in all fields the mode (any, text, exact) admits.
    """
    return Query.parse(text, fields, list(default_fields), mode)


def plain_query(text: str) -> str:
    """The query of free text from a search box; every string has one.

    All words and quoted phrases must match; those after a minus must not match.
    """
    return Query.plain(text)


def at_time(text: str, now: int) -> str:
    """A query with `now-1h` and similar ends of ranges replaced by timestamps.

    `now` is in microseconds since 1970.
    """
    return Query.at_time(text, now) if "now" in text else text


@dataclass(frozen=True)
class Token:
    """A token of a text: its position among the tokens, and its range in the text."""

    text: str
    position: int
    start: int
    end: int


def analyze(tokenizer: str, text: str) -> list[Token]:
    """The tokens of a text; ranges are in bytes of UTF-8."""
    return [Token(**found) for found in analyze_rows(tokenizer, pa.array([text]))[0].as_py()]


def analyze_rows(tokenizer: str, texts: pa.Array) -> pa.Array:
    """A list of tokens for each text, with the members of `Token`; null for a null."""
    batch = pa.RecordBatch.from_arrays([texts], ["text"])
    return pa.record_batch(_analyze(tokenizer, batch)).column(0)


def match_rows(
    query: Query, batch: pa.RecordBatch, fields: Sequence[Mapping[str, Any]]
) -> pa.Array:
    """Match the rows of a batch against a query without an index: the same rows as with one.

    `fields` describe the columns as for `Fields`, with the `tokenizer` of text.
    """
    return pa.record_batch(query.match_rows(batch, fields)).column(0)
