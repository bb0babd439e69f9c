"""Trigrams find the same substrings as reading every value."""

from __future__ import annotations

import random
import re

import pyarrow as pa
import pytest

import indextables

PIECES = [
    "error",
    "Time",
    "out",
    "ÄÖ",
    "ß",
    "İx",
    "ΟΔΟΣ",
    "οδος",
    "K",
    "a.b",
    "%_",
    "\\",
    " ",
    "7",
    "日本語",
]
PLAIN = {"indexing.typemap.message": "text", "indexing.typemap.name": "string"}
INDEXED = {"indexing.typemap.message": "text+ngram", "indexing.typemap.name": "string+ngram"}


def make_rows(rng: random.Random, count: int) -> pa.Table:
    def text() -> str | None:
        return None if rng.random() < 0.1 else "".join(rng.choices(PIECES, k=rng.randint(0, 8)))

    texts = {
        name: pa.array([text() for _ in range(count)], pa.string()) for name in ("message", "name")
    }
    return pa.table({"id": pa.array(range(count)), **texts})


def needle(rng: random.Random, rows: pa.Table) -> str:
    value = rng.choice([text for text in rows["message"].to_pylist() if text])
    start = rng.randrange(len(value))
    return value[start : start + rng.randint(1, 6)]


def condition(rng: random.Random, rows: pa.Table) -> str:
    part, other, column = needle(rng, rows), needle(rng, rows), rng.choice(["message", "name"])
    sql = {
        name: text.replace("\\", "\\\\").replace("'", "''")
        for name, text in (("a", part), ("b", other))
    }
    like = {
        name: re.sub(r"([%_\\])", r"\\\1", text).replace("\\", "\\\\")
        for name, text in (("a", part), ("b", other))
    }
    return rng.choice(
        [
            f"contains({column}, '{sql['a']}')",
            f"startswith({column}, '{sql['a']}')",
            f"{column} LIKE '%{like['a']}%'",
            f"{column} LIKE '{like['a']}%{like['b']}'",
            f"NOT contains({column}, '{sql['a']}')",
        ]
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    rng = random.Random(7)
    rows = make_rows(rng, 500)
    found = []
    for number, options in enumerate((PLAIN, INDEXED)):
        path = str(tmp_path_factory.mktemp(f"t{number}"))
        for start in range(0, 500, 250):
            indextables.write(rows.slice(start, 250), path, options=options if start == 0 else {})
        found.append(indextables.open(path))
    return rows, *found


@pytest.mark.parametrize("seed", range(60))
def test_the_same_rows_are_found(tables, seed: int):
    rows, plain, indexed = tables
    where = condition(random.Random(seed), rows)
    want = sorted(plain.scan(["id"], where)["id"].to_pylist())
    assert sorted(indexed.scan(["id"], where)["id"].to_pylist()) == want, where
    assert indexed.count(where) == len(want)


def test_the_plan_says_what_is_read(tables):
    _, plain, indexed = tables
    by_words = "words or values of message"
    assert plain.explain("contains(message, 'rror')").facts["scanned"] == by_words
    assert plain.explain("message ILIKE '%rror%'").facts["scanned"] == by_words
    assert plain.explain("message LIKE '%r o%'").facts["scanned"] == "message"
    assert plain.explain("message LIKE 'rror%'").facts["scanned"] == "message"
    both = "contains(message, 'rror') AND message LIKE '%r o%'"
    assert plain.explain(both).facts["scanned"] == "message"
    assert indexed.explain("contains(message, 'rror')").facts["scanned"] == "none"
    assert indexed.explain("contains(message, 'rr')").facts["scanned"] == by_words


def test_words_are_searched_as_before(tables):
    _, plain, indexed = tables
    for text in ("error", "message:time*", '"error 7"', "name:K"):
        assert indexed.count(query=text) == plain.count(query=text)


def test_an_append_keeps_the_index_and_another_type_is_refused(tmp_path):
    rows = pa.table({"message": ["abcdef"]})
    indextables.write(rows, str(tmp_path), options={"indexing.typemap.message": "text+ngram"})
    table = indextables.write(rows, str(tmp_path))
    assert table.explain("message LIKE '%bcd%'").facts["scanned"] == "none"
    with pytest.raises(Exception, match="INDEXING_CHANGED"):
        indextables.write(rows, str(tmp_path), options={"indexing.typemap.message": "text"})


@pytest.mark.parametrize("layout", ["compatible", "lean"])
@pytest.mark.parametrize("mode", ["text+ngram", "string+ngram"])
def test_every_layout_has_trigrams(tmp_path, layout, mode):
    options = {"indexing.typemap.m": mode, "indexing.layout": layout}
    table = indextables.write(pa.table({"m": ["abcdef", None]}), str(tmp_path), options=options)
    assert table.count("m LIKE '%bcd%'") == 1
