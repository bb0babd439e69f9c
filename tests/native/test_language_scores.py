"""Boosts, constant scores, field weights and minimum-should-match: scores and rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from tests.native.test_match_rows import compare, query

import indextables
from indextables.engine.query import at_time, plain_query
from indextables.errors import IndexTablesError, QuerySyntaxError


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rows = pa.table(
        {
            "id": [1, 2, 3, 4],
            "title": ["disk full", "peer lost", "disk error", "quiet"],
            "body": ["peer gone", "disk error here", "all fine", "error error peer"],
        }
    )
    options = {"indexing.typemap.title": "text", "indexing.typemap.body": "text"}
    return indextables.write(rows, str(tmp_path_factory.mktemp("scores")), options=options)


def scores(table, text: str, **more) -> dict[int, float]:
    found = table.search(text, ["id"], None, score=True, **more)
    return dict(zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True))


def test_a_boost_multiplies(table):
    plain, boosted = scores(table, "title:disk"), scores(table, "title:disk^3")
    assert boosted == pytest.approx({row: 3 * score for row, score in plain.items()})


def test_a_constant_score_is_the_same_for_every_match(table):
    assert scores(table, "(disk OR error)^=2.5") == {1: 2.5, 2: 2.5, 3: 2.5, 4: 2.5}
    both = scores(table, "title:disk AND (error OR full)^=1")
    words = scores(table, "title:disk")
    assert both == pytest.approx({row: score + 1 for row, score in words.items()})


def test_weights_of_fields_are_boosts_of_each(table):
    weighted = scores(table, "{title^5, body}:disk")
    assert weighted == pytest.approx(scores(table, "title:disk^5 OR body:disk"))
    assert scores(table, "disk", fields={"title": 5, "body": 1}) == pytest.approx(weighted)
    assert set(scores(table, "disk", fields=["body"])) == {2}


def test_at_least_so_many_members_match_and_all_that_match_count(table):
    found = scores(table, "(disk error peer)~2")
    every = scores(table, "disk OR error OR peer")
    assert found == pytest.approx({row: every[row] for row in (1, 2, 3, 4)})
    assert set(scores(table, "(disk error peer)~3")) == {2}
    assert set(scores(table, "(disk error peer -full)~2")) == {2, 3, 4}
    assert set(scores(table, "NOT (disk error peer)~3")) == {1, 3, 4}


def test_the_parts_of_a_score_are_explained(table):
    rows = table.explain_score("(disk error)~1 OR (peer)^=2")
    assert all(row["explanation"]["score"] == pytest.approx(row["score"]) for row in rows)


def test_fields_do_not_leak_out_of_a_query_that_is_not_one(table):
    with pytest.raises(QuerySyntaxError):
        table.search("disk) OR (error", fields=["title"])


def test_an_unknown_mode_is_refused(table):
    with pytest.raises(IndexTablesError, match="SEARCH_MODE"):
        table.search("disk", mode="fancy")


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_person_types_is_a_search(table, seed: int):
    rng = random.Random(seed)
    typed = "".join(rng.choices("disk error \"(-:[]{}*?/\\^~+&|!'AND OR", k=rng.randint(0, 30)))
    table.search(typed, mode="simple")
    assert plain_query(typed)


def test_times_are_fixed_once(table):
    assert at_time("ts:[now-1s TO now]", 1_000_000) == (
        "ts:[1970-01-01T00:00:00.000000Z TO 1970-01-01T00:00:01.000000Z]"
    )


def grown(rng: random.Random) -> str:
    """A generated query with the forms that count, boost or narrow."""
    parts = " ".join(f"({query(rng, 2)})" for _ in range(rng.randint(2, 4)))
    return rng.choice(
        [
            f"({parts})~{rng.randint(1, 2)}",
            f"({parts})~60%",
            f"({query(rng, 1)})^2.5 {query(rng, 1)}",
            f"({query(rng, 1)})^=3 OR ({query(rng, 1)})",
            f"{{message^3, code}}:({rng.choice(['error', 'TIMEOUT', 'x1'])} OR cart)",
            f"message:{rng.choice(['errer', 'timeoot', 'restt'])}~2,{rng.randint(1, 4)}",
            f"NOT ({parts})~2",
        ]
    )


@pytest.mark.parametrize("seed", range(2))
def test_rows_without_an_index_match_as_an_index_finds_them(tmp_path, seed: int):
    assert compare(tmp_path, random.Random(seed), grown, 100) > 30
