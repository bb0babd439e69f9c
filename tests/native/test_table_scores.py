"""Scores belong to the table: BM25 of its live rows, however they are divided into splits."""

from __future__ import annotations

import bisect
import math
import random
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError
from indextables.expr.predicate import Predicate
from indextables.expr.where import parse_where
from indextables.log.transaction import Operation
from indextables.read.request import ScanRequest
from indextables.read.scan import find_rows, plan_scan
from indextables.read.spec import ROW_ID
from indextables.rows.commit_rows import RowChange, commit_rows
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

WORDS = ["error", "timeout", "reset", "peer", "cart", "disk", "full", "retry", *"abcdefghij"]
K1, B = 1.2, 0.75
TEXT = {"indexing.typemap.message": "text", "indexing.typemap.title": "text"}


def kept_lengths() -> list[int]:
    """The lengths that one byte can hold: exact up to 40, then eight per step; steps double."""
    lengths, step = list(range(41)), 2
    while len(lengths) < 256:
        lengths += [lengths[-1] + step * (i + 1) for i in range(8)]
        step *= 2
    return lengths


LENGTHS = kept_lengths()


def tokens(text: str | None) -> list[str]:
    return re.findall(r"[a-z0-9]+", (text or "").lower())


class Textbook:
    """BM25 by its formula, over all rows at once."""

    def __init__(self, texts: list[str | None]) -> None:
        self.counts = [Counter(tokens(text)) for text in texts]
        self.lengths = [LENGTHS[bisect.bisect(LENGTHS, sum(c.values())) - 1] for c in self.counts]
        self.average = sum(self.lengths) / len(texts)

    def score(self, row: int, word: str) -> float:
        n, rows = sum(word in c for c in self.counts), len(self.counts)
        idf = math.log(1 + (rows - n + 0.5) / (n + 0.5))
        frequency = self.counts[row][word]
        norm = K1 * (1 - B + B * self.lengths[row] / self.average)
        return idf * frequency * (K1 + 1) / (frequency + norm) if frequency else 0.0


def message(rng: random.Random) -> str | None:
    if rng.random() < 0.05:
        return None
    length = rng.choice([1, 3, 8, 8, 20, 60, 300])
    return " ".join(rng.choices(WORDS, [3, 2, 1, 1, 1, 1, 1, 1, *[4] * 10], k=length))


def make_rows(rng: random.Random, count: int) -> pa.Table:
    titles = [" ".join(rng.choices(WORDS[:6], k=rng.randint(1, 4))) for _ in range(count)]
    texts = [message(rng) for _ in range(count)]
    return pa.table({"id": list(range(count)), "title": titles, "message": texts})


def delete(path: str, condition: str) -> None:
    table = indextables.open(path)._table
    where: Predicate = parse_where(condition, table.snapshot.schema)
    found = find_rows(plan_scan(table, ScanRequest(ROW_ID, (where,), here=True)))
    change = RowChange(Operation.DELETE, found)
    commit_rows(table.log, change, table.snapshot, table.settings)


def lay_out(path: str, rows: pa.Table, splits: int, rng: random.Random) -> None:
    """Write the rows in any order to this many splits; some are written only to be deleted."""
    order = rng.sample(range(rows.num_rows), rows.num_rows)
    chaff = make_rows(rng, 20).set_column(0, "id", pa.array(range(10_000, 10_020)))
    mixed = pa.concat_tables([rows.take(order), chaff])
    mixed = mixed.take(rng.sample(range(mixed.num_rows), mixed.num_rows))
    cuts = sorted(rng.sample(range(1, mixed.num_rows), splits - 1))
    for start, end in zip([0, *cuts], [*cuts, mixed.num_rows], strict=True):
        indextables.write(mixed.slice(start, end - start), path, options=TEXT)
    if rng.random() < 0.5:
        execute(
            f"MERGE SPLITS '{path}' MAX SOURCE SPLITS PER MERGE {rng.choice([2, 5])}",
            LocalContext(),
        )
    delete(path, "id >= 10000")
    if rng.random() < 0.5:
        execute(f"MERGE SPLITS '{path}' TARGET SIZE 100M", LocalContext())


QUERIES = {
    "message:error": lambda m, t, r: m.score(r, "error"),
    "message:(error OR timeout OR reset OR a)": lambda m, t, r: sum(
        m.score(r, w) for w in ("error", "timeout", "reset", "a")
    ),
    "message:timeout^2.5 OR title:timeout^0.5": lambda m, t, r: (
        2.5 * m.score(r, "timeout") + 0.5 * t.score(r, "timeout")
    ),
    "message:(b c) OR title:peer": lambda m, t, r: (
        (m.score(r, "b") + m.score(r, "c") if m.counts[r]["b"] and m.counts[r]["c"] else 0)
        + t.score(r, "peer")
    ),
}


@pytest.mark.parametrize("seed", range(4))
def test_a_score_is_that_of_the_textbook_in_every_layout(tmp_path: Path, seed: int):
    rng = random.Random(seed)
    rows = make_rows(rng, 300)
    texts, titles = Textbook(rows["message"].to_pylist()), Textbook(rows["title"].to_pylist())
    for layout, splits in enumerate([1, rng.randint(2, 9), rng.randint(10, 40)]):
        path = str(tmp_path / str(layout))
        lay_out(path, rows, splits, rng)
        table = indextables.open(path)
        for query, textbook in QUERIES.items():
            points = {row: textbook(texts, titles, row) for row in range(rows.num_rows)}
            want = sorted((-p, row) for row, p in points.items() if p > 0)
            order = ["_score DESC", "id"]
            found = table.search(query, ["id"], None, order_by=order, score=True)
            assert sorted(found["id"].to_pylist()) == sorted(row for _, row in want), query
            for row, score in zip(*found.to_pydict().values(), strict=True):
                assert score == pytest.approx(points[row], rel=1e-6), (query, row)
            best = table.search(query, ["id"], limit=10, score=True)
            cut = [-p for p, _ in want[:10]]
            assert best["_score"].to_pylist() == pytest.approx(cut, rel=1e-6), query
            top = table.search(query, ["id"], 10, order_by=order)
            assert top["id"].to_pylist() == found["id"].to_pylist()[:10]


def test_equal_rows_score_equally_and_their_order_is_the_same_in_every_layout(tmp_path: Path):
    rng = random.Random(7)
    texts = [" ".join(rng.choices(WORDS[:9], k=6)) for _ in range(40)] * 5
    rows = pa.table({"id": list(range(200)), "message": texts})
    orders = []
    for layout, splits in enumerate([1, 3, 17]):
        path = str(tmp_path / str(layout))
        for start in range(0, 200, -(-200 // splits)):
            part = rows.slice(start, -(-200 // splits))
            indextables.write(part, path, options={"indexing.typemap.message": "text"})
        query = "message:(error OR timeout OR reset OR peer OR cart OR disk)"
        table, order = indextables.open(path), ["_score DESC", "id"]
        found = table.search(query, ["id"], None, order_by=order, score=True)
        orders.append(found.to_pydict())
    assert orders[0] == orders[1] == orders[2]


def test_no_block_of_postings_is_left_out_for_its_score_under_another_average(tmp_path: Path):
    """The best score of a block is stored for the average length of its split.

    With the long average of the split, a long row is the best of its block. With the short average
    of the table, the long row scores below the first rows, and a short row of the block above all.
    """
    long, short = "x " * 12 + "y " * 288, "x x"
    texts = ["x"] * 1500 + ["y " * 300] * 3000 + ([long] * 39 + [short]) * 10
    best = [at for at, text in enumerate(texts) if text == short]
    for start, words in ((0, texts), (10_000, ["z"] * 20_000)):
        rows = pa.table({"id": range(start, start + len(words)), "message": words})
        indextables.write(rows, str(tmp_path), options={"indexing.typemap.message": "text"})
    found = indextables.open(str(tmp_path)).search("message:x", ["id"], 10, score=True)
    assert sorted(found["id"].to_pylist()) == best


def test_a_split_may_be_scored_alone(tmp_path: Path):
    path = str(tmp_path)
    for words in (["rare common", "common"], ["rare rare", "rare"]):
        rows = pa.table({"message": words})
        indextables.write(rows, path, options={"indexing.typemap.message": "text"})
    whole, alone = (
        indextables.open(path, options={"read.score": mode}).search("message:rare", score=True)
        for mode in ("table", "split")
    )
    assert whole.num_rows == alone.num_rows == 3
    assert whole["_score"].to_pylist() != alone["_score"].to_pylist()
    textbook = Textbook(["rare common", "common", "rare rare", "rare"])
    want = sorted((textbook.score(row, "rare") for row in range(4)), reverse=True)[:3]
    assert whole["_score"].to_pylist() == pytest.approx(want, rel=1e-6)


def test_an_explanation_adds_up_to_the_score(tmp_path: Path):
    path = str(tmp_path)
    for words in (["disk full", "disk"], ["disk disk full", "fine"]):
        rows = pa.table({"id": [len(w) for w in words], "message": words})
        indextables.write(rows, path, options={"indexing.typemap.message": "text"})
    table = indextables.open(path)
    query = "message:disk^2 OR message:full OR message:dis*"
    found = table.search(query, ["id"], score=True)
    explained = table.explain_score(query)
    assert [e["row"]["id"] for e in explained] == found["id"].to_pylist()
    assert [e["score"] for e in explained] == pytest.approx(found["_score"].to_pylist())
    for e in explained:
        parts = e["explanation"]["parts"]
        assert sum(p["score"] or 0 for p in parts) == pytest.approx(e["score"])
        assert parts[2]["score"] == 1.0
    only = table.explain_score(query, where="message = 'disk'")
    assert [e["row"]["message"] for e in only] == ["disk"]
    assert only[0]["explanation"]["parts"][0]["parts"][1]["score"] is None
    with pytest.raises(IndexTablesError):
        table.explain_score("message:(")
