"""Matching rows without an index finds the same rows as an index."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import indextables
from indextables.engine.query import Query, match_rows
from indextables.errors import IndexTablesError
from indextables.plan.matching import describe_rows, query_tree

WORDS = ["error", "Timeout", "reset", "peer", "cart", "disk-full", "café", "x1", "a", "b", "c", ""]
FLOATS = [0.0, -0.0, 1.5, float("nan")]
LEVELS = ["ERROR", "WARN", "info", "two words", ""]
OPTIONS = {
    "indexing.typemap.message": "text",
    "indexing.typemap.code": "text",
    "indexing.tokenizer.code": "whitespace",
    "indexing.typemap.note": "text",
    "indexing.indexrecordoption.note": "basic",
    "indexing.typemap.address": "ip",
}


def make_rows(rng: random.Random, count: int) -> pa.Table:
    def text() -> str | None:
        joined = rng.choice([" ", "  ", ", "]).join(rng.choices(WORDS, k=rng.randint(0, 9)))
        return None if rng.random() < 0.1 else joined

    def maybe(value: object) -> object:
        return None if rng.random() < 0.1 else value

    day = dt.date(2026, 1, 1)
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "message": [text() for _ in range(count)],
            "code": [text() for _ in range(count)],
            "note": [text() for _ in range(count)],
            "level": pa.array([maybe(rng.choice(LEVELS)) for _ in range(count)], pa.string()),
            "n": pa.array([maybe(rng.randint(-3, 9)) for _ in range(count)], pa.int32()),
            "f": pa.array([maybe(rng.choice(FLOATS)) for _ in range(count)]),
            "ok": pa.array([maybe(rng.random() < 0.5) for _ in range(count)], pa.bool_()),
            "day": pa.array([maybe(day + dt.timedelta(rng.randint(0, 5))) for _ in range(count)]),
            "ts": pa.array(
                [maybe(dt.datetime(2026, 1, rng.randint(1, 5), rng.randint(0, 23), tzinfo=dt.UTC))
                 for _ in range(count)], pa.timestamp("us", "UTC")),
            "address": pa.array(
                [maybe(f"10.{rng.randint(0, 3)}.0.{rng.randint(0, 9)}") for _ in range(count)],
                pa.string()),
        }
    )  # fmt: skip


def word(rng: random.Random) -> str:
    return rng.choice(["error", "TIMEOUT", "reset", "cart", "full", "cafe", "café", "x1", "a", "b"])


def leaf(rng: random.Random) -> str:
    texts = [
        lambda: word(rng),
        lambda: f"{word(rng)}~{rng.randint(0, 2)}",
        lambda: f"{word(rng)[:2]}*",
        lambda: f"*{word(rng)[-1]}",
        lambda: f"{word(rng)[0]}?{word(rng)[-1]}*",
        lambda: f"/{word(rng)[0].lower()}.*/",
        lambda: "disk-full",
        lambda: f"'{word(rng)} {word(rng)}'",
    ]
    phrases = [
        lambda: f'"{word(rng)} {word(rng)}"',
        lambda: f'"{word(rng)} {word(rng)}"~{rng.randint(1, 3)}',
        lambda: f'"{word(rng)} {word(rng)} {word(rng)}"~{rng.randint(1, 4)}',
        lambda: f'"{word(rng)} {word(rng)[:1]}"*',
    ]
    typed = [
        lambda: f"n:{rng.randint(-3, 9)}",
        lambda: f"n:[{rng.randint(-3, 2)} TO {rng.randint(2, 9)}}}",
        lambda: f"n:>{rng.randint(-3, 9)}",
        lambda: "f:0",
        lambda: "f:NaN",
        lambda: "f:[1 TO *]",
        lambda: "ok:true",
        lambda: f"day:2026-01-0{rng.randint(1, 6)}",
        lambda: f"ts:[2026-01-0{rng.randint(1, 3)} TO 2026-01-04T12:00:00Z]",
        lambda: f"ts:2026-01-0{rng.randint(1, 5)}",
        lambda: f"level:{rng.choice(['ERROR', 'error', 'W*', '/I.*/', 'info~1', '[A TO F]'])}",
        lambda: 'level:"two words"',
        lambda: "level: IN [ERROR info]",
        lambda: f"address:10.{rng.randint(0, 3)}.0.0/16",
        lambda: f"address:10.{rng.randint(0, 3)}.*.*",
        lambda: "address:[10.1.0.3 TO 10.2.0.5]",
        lambda: f"{rng.choice(['message', 'level', 'n', 'ts', 'address'])}:*",
    ]
    kind = rng.random()
    if kind < 0.35:
        return f"message:{rng.choice(texts + phrases)()}"
    if kind < 0.5:
        return f"code:{rng.choice(texts + phrases)()}"
    if kind < 0.6:
        return f"note:{rng.choice(texts)()}"
    return rng.choice(typed)() if kind < 0.9 else rng.choice([*texts[:2], lambda: "*"])()


def query(rng: random.Random, depth: int = 0) -> str:
    kind = rng.random()
    if depth > 2 or kind < 0.4:
        return leaf(rng)
    if kind < 0.55:
        return f"NOT ({query(rng, depth + 1)})"
    joined = rng.choice([" AND ", " OR ", " "])
    return "(" + joined.join(query(rng, depth + 1) for _ in range(rng.randint(2, 3))) + ")"


def compare(
    path: Path, rng: random.Random, make: Callable[[random.Random], str], times: int
) -> int:
    """Run generated queries with and without an index; return how many of them found rows."""
    rows = make_rows(rng, 400)
    indextables.write(rows, str(path), options=OPTIONS)
    every = {"indexquery.indexall.maxUnqualifiedFields": "0"}
    table = indextables.open(str(path), options=every)
    columns = table._table.columns
    described = describe_rows(columns.schema.fields, columns, "any")
    batch = rows.combine_chunks().to_batches()[0]
    compared = 0
    for _ in range(times):
        text = make(rng)
        compiled = Query(query_tree(text, None, "any"))
        try:
            want = sorted(table.search(text, ["id"], None)["id"].to_pylist())
        except IndexTablesError as refused:
            with pytest.raises(IndexTablesError, match=refused.code):
                match_rows(compiled, batch, described)
            continue
        found = rows.filter(match_rows(compiled, batch, described))["id"].to_pylist()
        assert found == want, text
        compared += bool(want)
    return compared


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_an_index_match_as_an_index_finds_them(tmp_path: Path, seed: int):
    assert compare(tmp_path, random.Random(seed), query, 150) > 50


PREFIXES = [
    "234",
    "kelv",
    "34",
    "45 k",
    "a the b",
    "a the b the c",
    "b the c",
    "the c",
    "z a the b",
]


@pytest.mark.parametrize("text", PREFIXES)
def test_the_prefix_of_a_phrase_may_lie_anywhere_behind_its_words(tmp_path: Path, text: str):
    texts = ["1234 KELVIN", "x 234", "23 34", "1 2345 k", "a the bee", "a b", "z a the b the cat"]
    texts += ["a b the c", "b of cats", "z a of b c", "a the b c", "kelly", ""]
    rows = pa.table({"id": list(range(len(texts))), "grams": texts, "words": texts})
    options = {
        "indexing.typemap.grams": "text",
        "indexing.tokenizer.grams": "ngram(2,3)",
        "indexing.typemap.words": "text",
        "indexing.stopwords.words": "the,of",
    }
    table = indextables.write(rows, str(tmp_path / "t"), options=options)
    columns = table._table.columns
    described = describe_rows(columns.schema.fields, columns, "any")
    batch = rows.combine_chunks().to_batches()[0]
    for field in ("grams", "words"):
        query = f'{field}:"{text}"*'
        found = sorted(table.search(query, ["id"], None)["id"].to_pylist())
        matched = match_rows(Query(query_tree(query, None, "any")), batch, described)
        assert found == rows.filter(matched)["id"].to_pylist(), query


def test_what_needs_an_index_says_so():
    batch = pa.record_batch({"s": pa.array([{"a": 1}])})
    fields = [{"name": "s", "type": "struct", "role": "auto"}]
    with pytest.raises(IndexTablesError, match="only an index"):
        match_rows(Query(query_tree("s.a:1", None, "any")), batch, fields)
    with pytest.raises(IndexTablesError, match="QUERY_UNKNOWN_FIELD"):
        match_rows(Query(query_tree("nope:1", None, "any")), batch, fields)
