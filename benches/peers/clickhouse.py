"""Embedded ClickHouse (chdb), with a text index on the messages."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from chdb import session

from benches.peers import changing
from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

_TABLE = """
CREATE TABLE db.events ENGINE = MergeTree ORDER BY id SETTINGS allow_nullable_key = 1
AS SELECT * FROM file('{path}', Parquet)
"""

# the first count of a new process; this process locks the database, so that one reads the file
FIRST = f"""
import chdb
where = "hasToken(message, '{q.FILTERED}')"
print(str(chdb.query(f"SELECT count() FROM file('events.parquet', Parquet) WHERE {{where}}")))
"""


@cache
def _session(folder: Path) -> session.Session:
    """Open the database of a folder; a process can open only one."""
    return session.Session(str(folder / "data"))


def _load(rows: pa.Table, folder: Path) -> session.Session:
    path = folder / "events.parquet"
    pq.write_table(rows, path)
    database = _session(folder)
    database.query("CREATE DATABASE db ENGINE = Atomic")
    database.query(_TABLE.format(path=path))
    index = "ADD INDEX words message TYPE text(tokenizer = 'splitByNonAlpha')"
    database.query(f"ALTER TABLE db.events {index}")
    database.query("ALTER TABLE db.events MATERIALIZE INDEX words SETTINGS mutations_sync = 2")
    return database


def build(rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """Load a table and query it."""
    database = _load(rows, folder)

    def ask(sql: str) -> list[list[Any]]:
        text = str(database.query(sql, "JSONCompactEachRow"))
        return [json.loads(line) for line in text.splitlines()]

    def has(word: str) -> str:
        return f"hasToken(message, '{word}')"

    def count(condition: str) -> object:
        return int(ask(f"SELECT count() FROM db.events WHERE {condition}")[0][0])

    def grouped(where: str) -> Callable[[], object]:
        sql = f"SELECT service, count() FROM db.events {where} GROUP BY service"
        return lambda: {service: int(n) for service, n in ask(sql)}

    first, second = q.PHRASE.split()
    phrase = f"{has(first)} AND {has(second)} AND message LIKE '%{q.PHRASE}%'"
    newest = f"SELECT id FROM db.events WHERE {has(q.FILTERED)} ORDER BY id DESC LIMIT {q.TOP}"
    lookup = "SELECT message, * FROM db.events WHERE id = {}"
    return {
        q.COUNT_RARE: lambda: count(has(q.wanted.rare)),
        q.COUNT_COMMON: lambda: count(has(q.COMMON)),
        q.COUNT_PHRASE: lambda: count(phrase),
        q.COUNT_ALL_OF: lambda: count(" AND ".join(map(has, q.ALL_OF))),
        q.COUNT_ANY_OF: lambda: count(" OR ".join(map(has, q.ANY_OF))),
        q.NEWEST: lambda: [int(row[0]) for row in ask(newest)],
        q.LOOKUP: lambda: [row[0] for row in ask(lookup.format(q.wanted.id))],
        q.FILTER_GROUP: grouped(f"WHERE {has(q.FILTERED)} AND level = 'ERROR'"),
        q.GROUP: grouped(""),
        q.CONTAINS: lambda: count(f"message LIKE '%{q.SUBSTRING}%'"),
    }


def change(_: pa.Table, folder: Path) -> dict[str, Callable[[pa.Table, str], int]]:
    """Add rows to the table that `build` has loaded."""
    database = _session(folder)

    def append(given: pa.Table, word: str) -> int:  # noqa: ARG001 (read by its name)
        database.query("INSERT INTO db.events SELECT * FROM Python(given)")
        sql = f"SELECT count() FROM db.events WHERE hasToken(message, '{word}')"
        return int(str(database.query(sql)))

    return {changing.APPEND: append}
