"""tantivy alone, through its own Python package: the lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tantivy

from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa


def _index(rows: pa.Table, folder: Path) -> tantivy.Index:
    schema = tantivy.SchemaBuilder()
    schema.add_integer_field("id", stored=True, indexed=True, fast=True)
    for name in ("level", "service"):
        schema.add_text_field(name, stored=True, tokenizer_name="raw", fast=True)
    schema.add_text_field("message", stored=True)
    index = tantivy.Index(schema.build(), path=str(folder))
    writer = index.writer(num_threads=1)
    names = ("id", "level", "service", "message")
    for values in zip(*(rows.column(name).to_pylist() for name in names), strict=True):
        document = tantivy.Document()
        document.add_integer("id", values[0])
        for name, value in zip(names[1:], values[1:], strict=True):
            document.add_text(name, value)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def build(rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """Index the rows and query them."""
    index = _index(rows, folder)
    searcher = index.searcher()

    def parsed(query: str) -> tantivy.Query:
        return index.parse_query(query, ["message"])

    def count(query: str) -> object:
        return searcher.search(parsed(query), limit=1, count=True).count

    def rows_of(query: str, **more: object) -> list[dict[str, list[object]]]:
        found = searcher.search(parsed(query), limit=q.TOP, count=False, **more)
        return [searcher.doc(address).to_dict() for _, address in found.hits]

    return {
        q.COUNT_RARE: lambda: count(q.wanted.rare),
        q.COUNT_COMMON: lambda: count(q.COMMON),
        q.COUNT_PHRASE: lambda: count(f'"{q.PHRASE}"'),
        q.COUNT_ALL_OF: lambda: count(" AND ".join(q.ALL_OF)),
        q.COUNT_ANY_OF: lambda: count(" OR ".join(q.ANY_OF)),
        q.BEST: lambda: len(rows_of(q.FILTERED)),
        q.NEWEST: lambda: [
            row["id"][0]
            for row in rows_of(q.FILTERED, order_by_field="id", order=tantivy.Order.Desc)
        ],
        q.LOOKUP: lambda: [row["message"][0] for row in rows_of(f"id:{q.wanted.id}")],
    }
