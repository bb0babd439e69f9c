"""This product through `indextables.open`, in its compatible layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import indextables
from benches.peers import changing
from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

_OPTIONS = {"indexing.typemap.message": "text"}

# the first count of a new process
FIRST = f"""
import indextables
print(indextables.open("table").count(query="message:{q.FILTERED}"))
"""


def build(
    rows: pa.Table, folder: Path, layout: str = "compatible"
) -> dict[str, Callable[[], object]]:
    """Write a table and query it."""
    options = {**_OPTIONS, "indexing.layout": layout}
    table = indextables.write(rows, str(folder / "table"), options=options)
    where = "level = 'ERROR'"

    def grouped(**more: str) -> dict[str, int]:
        found = table.aggregate({"n": "count(*)"}, by=["service"], **more)
        return dict(zip(found["service"].to_pylist(), found["n"].to_pylist(), strict=True))

    def newest() -> list[int]:
        query = f"message:{q.FILTERED}"
        found = table.scan(["id"], query=query, order_by=["id DESC"], limit=q.TOP)
        return list(found["id"].to_pylist())

    def lookup() -> list[str]:
        return list(table.scan(where=f"id = {q.wanted.id}")["message"].to_pylist())

    return {
        q.COUNT_RARE: lambda: table.count(query=f"message:{q.wanted.rare}"),
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


def change(
    rows: pa.Table, folder: Path, layout: str = "compatible"
) -> dict[str, Callable[[pa.Table, str], int]]:
    """Write tables and change them."""
    options = {**_OPTIONS, "indexing.layout": layout}
    plain, keyed = str(folder / "plain"), str(folder / "keyed")
    indextables.write(rows, plain, options=options)
    indextables.write(rows, keyed, options={**options, "primary-key": "id"})

    def changes(path: str) -> Callable[[pa.Table, str], int]:
        return lambda given, word: indextables.write(given, path, mode="append").count(
            query=f"message:{word}"
        )

    return {changing.APPEND: changes(plain), changing.UPSERT: changes(keyed)}
