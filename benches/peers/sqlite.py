"""SQLite with its full-text index FTS5."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa


def build(rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """Load a database and answer from it."""
    database = sqlite3.connect(folder / "events.db")
    names = [name for name in rows.column_names if name != "ts"]
    values = zip(*(rows.column(name).to_pylist() for name in names), strict=True)
    database.execute(f"CREATE TABLE events ({', '.join(names)}, PRIMARY KEY (id))")
    database.executemany(f"INSERT INTO events VALUES ({','.join('?' * len(names))})", values)
    database.execute("CREATE VIRTUAL TABLE words USING fts5(message, content='events')")
    database.execute("INSERT INTO words(words) VALUES ('rebuild')")
    database.commit()

    def ask(sql: str) -> list[Any]:
        return database.execute(sql).fetchall()

    def count(query: str) -> Callable[[], object]:
        return lambda: ask(f"SELECT count(*) FROM words WHERE words MATCH '{query}'")[0][0]

    joined = f"events e JOIN words w ON e.rowid = w.rowid WHERE w.words MATCH '{q.FILTERED}'"
    best = f"SELECT e.* FROM {joined} ORDER BY bm25(words) LIMIT {q.TOP}"
    newest = f"SELECT e.id FROM {joined} ORDER BY e.id DESC LIMIT {q.TOP}"
    filtered = f"SELECT service, count(*) FROM {joined} AND level = 'ERROR' GROUP BY service"
    grouped = "SELECT service, count(*) FROM events GROUP BY service"
    like = f"SELECT count(*) FROM events WHERE message LIKE '%{q.SUBSTRING}%'"
    return {
        q.COUNT_RARE: count(q.rare_word(rows)),
        q.COUNT_COMMON: count(q.COMMON),
        q.COUNT_PHRASE: count(f'"{q.PHRASE}"'),
        q.COUNT_ALL_OF: count(" AND ".join(q.ALL_OF)),
        q.COUNT_ANY_OF: count(" OR ".join(q.ANY_OF)),
        q.BEST: lambda: len(ask(best)),
        q.NEWEST: lambda: [row[0] for row in ask(newest)],
        q.LOOKUP: lambda: [
            row[0] for row in ask(f"SELECT message, * FROM events WHERE id = {q.ID}")
        ],
        q.FILTER_GROUP: lambda: dict(ask(filtered)),
        q.GROUP: lambda: dict(ask(grouped)),
        q.CONTAINS: lambda: ask(like)[0][0],
    }
