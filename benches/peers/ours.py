"""This product through `indextables.open`, in its compatible layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import indextables
from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa


def build(
    rows: pa.Table, folder: Path, layout: str = "compatible"
) -> dict[str, Callable[[], object]]:
    """Write a table and answer from it."""
    options = {"indexing.typemap.message": "text", "indexing.layout": layout}
    table = indextables.write(rows, str(folder / "table"), options=options)
    rare = q.rare_word(rows)
    where = "level = 'ERROR'"

    def grouped(**more: str) -> dict[str, int]:
        found = table.aggregate({"n": "count(*)"}, by=["service"], **more)
        return dict(zip(found["service"].to_pylist(), found["n"].to_pylist(), strict=True))

    def newest() -> list[int]:
        query = f"message:{q.FILTERED}"
        found = table.scan(["id"], query=query, order_by=["id DESC"], limit=q.TOP)
        return list(found["id"].to_pylist())

    def lookup() -> list[str]:
        return list(table.scan(where=f"id = {q.ID}")["message"].to_pylist())

    return {
        q.COUNT_RARE: lambda: table.count(query=f"message:{rare}"),
        q.COUNT_COMMON: lambda: table.count(query=f"message:{q.COMMON}"),
        q.COUNT_PHRASE: lambda: table.count(query=f'message:"{q.PHRASE}"'),
        q.COUNT_ALL_OF: lambda: table.count(query=f"message:({' AND '.join(q.ALL_OF)})"),
        q.COUNT_ANY_OF: lambda: table.count(query=f"message:({' OR '.join(q.ANY_OF)})"),
        q.BEST: lambda: table.search(f"message:{q.FILTERED}", limit=q.TOP).num_rows,
        q.NEWEST: newest,
        q.LOOKUP: lookup,
        q.FILTER_GROUP: lambda: grouped(query=f"message:{q.FILTERED}", where=where),
        q.GROUP: grouped,
        q.CONTAINS: lambda: table.count(where=f"message LIKE '%{q.SUBSTRING}%'"),
    }
