"""Queries of the engine, and the query language that it parses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables._native import Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EVERY_ROW", "Query", "match_rows", "parse_query"]

EVERY_ROW = Query({"type": "all"})


def parse_query(
    text: str,
    fields: Sequence[Mapping[str, Any]],
    default_fields: Sequence[str] = (),
    mode: str = "any",
) -> Query:
    """Parse a search query; an error names the position.

    `fields` are the columns a query may name: `name`, `type` (Spark's name of the type), `role`
    (string, text, json, ip) and, for text, `record`. Words without a field are looked up in
    `default_fields`, or in all fields the mode (any, text, exact) admits.
    """
    return Query.parse(text, fields, list(default_fields), mode)


def match_rows(
    query: Query, batch: pa.RecordBatch, fields: Sequence[Mapping[str, Any]]
) -> pa.Array:
    """Which rows of a batch a query finds, without an index: the same rows as with one.

    `fields` describe the columns as in `parse_query`, with the `tokenizer` of text.
    """
    return pa.record_batch(query.match_rows(batch, fields)).column(0)
