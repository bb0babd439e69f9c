"""DuckDB over the rows in Parquet; regular expressions find the words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq

from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

# the first count of a new process
FIRST = f"""
import duckdb
where = r"regexp_matches(message, '\\b{q.FILTERED}\\b', 'i')"
print(duckdb.sql(f"SELECT count(*) FROM 'events.parquet' WHERE {{where}}").fetchall()[0][0])
"""


def build(rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """Write Parquet and query it."""
    path = folder / "events.parquet"
    pq.write_table(rows, path, compression="zstd")
    database = duckdb.connect()
    source = f"read_parquet('{path}')"

    def has(word: str) -> str:
        return f"regexp_matches(message, '\\b{word}\\b', 'i')"

    def ask(sql: str) -> list[Any]:
        return database.execute(sql).fetchall()

    def count(condition: str) -> object:
        return ask(f"SELECT count(*) FROM {source} WHERE {condition}")[0][0]

    by = "SELECT service, count(*) FROM {source} {where} GROUP BY service"
    filtered = f"WHERE {has(q.FILTERED)} AND level = 'ERROR'"
    newest = f"SELECT id FROM {source} WHERE {has(q.FILTERED)} ORDER BY id DESC LIMIT {q.TOP}"
    return {
        q.COUNT_RARE: lambda: count(has(q.wanted.rare)),
        q.COUNT_COMMON: lambda: count(has(q.COMMON)),
        q.COUNT_PHRASE: lambda: count(has(q.PHRASE)),
        q.COUNT_ALL_OF: lambda: count(" AND ".join(map(has, q.ALL_OF))),
        q.COUNT_ANY_OF: lambda: count(" OR ".join(map(has, q.ANY_OF))),
        q.NEWEST: lambda: [row[0] for row in ask(newest)],
        q.LOOKUP: lambda: [
            row[0] for row in ask(f"SELECT message, * FROM {source} WHERE id = {q.wanted.id}")
        ],
        q.FILTER_GROUP: lambda: dict(ask(by.format(source=source, where=filtered))),
        q.GROUP: lambda: dict(ask(by.format(source=source, where=""))),
        q.CONTAINS: lambda: count(f"message LIKE '%{q.SUBSTRING}%'"),
    }
