"""Queries of the engine, and the query language that it parses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables._native import Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EVERY_ROW", "Query", "parse_query"]

EVERY_ROW = Query({"type": "all"})


def parse_query(
    text: str,
    fields: Sequence[Mapping[str, Any]],
    default_fields: Sequence[str] = (),
    mode: str = "any",
) -> Query:
    """The query of a search text, or an error that points at the position.

    `fields` are the columns that may be named: `name`, `type` (Spark's name of the type), `role`
    (string, text, json, ip) and, for text, `record`. Words without a field are looked up in
    `default_fields`, or in all fields the mode (any, text, exact) admits.
    """
    return Query.parse(text, fields, list(default_fields), mode)
