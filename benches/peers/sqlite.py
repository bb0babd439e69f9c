"""SQLite with its full-text index FTS5."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from benches.peers import changing
from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

# the first count of a new process
FIRST = f"""
import sqlite3
count = "SELECT count(*) FROM words WHERE words MATCH '{q.FILTERED}'"
print(sqlite3.connect("events.db").execute(count).fetchone()[0])
"""


def _names(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name != "ts"]


def _insert(database: sqlite3.Connection, rows: pa.Table) -> None:
    names = _names(rows)
    values = zip(*(rows.column(name).to_pylist() for name in names), strict=True)
    database.executemany(f"INSERT INTO events VALUES ({','.join('?' * len(names))})", values)


def _load(rows: pa.Table, path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute(f"CREATE TABLE events ({', '.join(_names(rows))}, PRIMARY KEY (id))")
    _insert(database, rows)
    database.execute("CREATE VIRTUAL TABLE words USING fts5(message, content='events')")
    database.execute("INSERT INTO words(words) VALUES ('rebuild')")
    database.commit()
    return database


def build(rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """Load a database and query it."""
    database = _load(rows, folder / "events.db")

    def ask(sql: str) -> list[Any]:
        return database.execute(sql).fetchall()

    def count(query: str) -> object:
        return ask(f"SELECT count(*) FROM words WHERE words MATCH '{query}'")[0][0]

    joined = f"events e JOIN words w ON e.rowid = w.rowid WHERE w.words MATCH '{q.FILTERED}'"
    best = f"SELECT e.* FROM {joined} ORDER BY bm25(words) LIMIT {q.TOP}"
    newest = f"SELECT e.id FROM {joined} ORDER BY e.id DESC LIMIT {q.TOP}"
    filtered = f"SELECT service, count(*) FROM {joined} AND level = 'ERROR' GROUP BY service"
    grouped = "SELECT service, count(*) FROM events GROUP BY service"
    like = f"SELECT count(*) FROM events WHERE message LIKE '%{q.SUBSTRING}%'"
    return {
        q.COUNT_RARE: lambda: count(q.wanted.rare),
        q.COUNT_COMMON: lambda: count(q.COMMON),
        q.COUNT_PHRASE: lambda: count(f'"{q.PHRASE}"'),
        q.COUNT_ALL_OF: lambda: count(" AND ".join(q.ALL_OF)),
        q.COUNT_ANY_OF: lambda: count(" OR ".join(q.ANY_OF)),
        q.BEST: lambda: len(ask(best)),
        q.NEWEST: lambda: [row[0] for row in ask(newest)],
        q.LOOKUP: lambda: [
            row[0] for row in ask(f"SELECT message, * FROM events WHERE id = {q.wanted.id}")
        ],
        q.FILTER_GROUP: lambda: dict(ask(filtered)),
        q.GROUP: lambda: dict(ask(grouped)),
        q.CONTAINS: lambda: ask(like)[0][0],
    }


def change(rows: pa.Table, folder: Path) -> dict[str, Callable[[pa.Table, str], int]]:
    """Load a database and add rows to it."""
    database = _load(rows, folder / "changed.db")
    newest = "SELECT rowid, message FROM events WHERE rowid > ?"

    def append(given: pa.Table, word: str) -> int:
        last = database.execute("SELECT max(rowid) FROM events").fetchone()[0]
        _insert(database, given)
        database.execute(f"INSERT INTO words(rowid, message) {newest}", (last,))
        database.commit()
        count = f"SELECT count(*) FROM words WHERE words MATCH '{word}'"
        return int(database.execute(count).fetchone()[0])

    return {changing.APPEND: append}
