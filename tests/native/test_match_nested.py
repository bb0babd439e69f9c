"""Matching members of nested values without an index finds the same rows as an index."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError
from indextables.plan.matching import describe_rows
from indextables.read.match import RowSearch

WORDS = ["web", "db", "web server", "Web", "prod", "5", "7.5", "true", "a.b", "ä"]
DAYS = [dt.date(2024, 1, day) for day in range(1, 6)]
INNER = pa.struct(
    [
        ("name", pa.string()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("ok", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
    ]
)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("message", pa.string()),
        ("s", INNER),
        ("labels", pa.map_(pa.string(), pa.string())),
        ("codes", pa.map_(pa.int32(), pa.int64())),
        ("tags", pa.list_(pa.string())),
        ("nums", pa.list_(pa.int32())),
        ("items", pa.list_(INNER)),
        ("deep", pa.map_(pa.string(), pa.list_(INNER))),
    ]
)
OPTIONS = {"indexing.typemap.message": "text"}


def maybe(rng: random.Random, make):
    return None if rng.random() < 0.15 else make()


def inner(rng: random.Random) -> dict[str, object]:
    makers = {
        "name": lambda: rng.choice(WORDS),
        "n": lambda: rng.randint(-3, 8),
        "x": lambda: rng.choice([0.5, 7.5, -0.0, 5.0, float("nan")]),
        "ok": lambda: rng.random() < 0.5,
        "day": lambda: rng.choice(DAYS),
        "at": lambda: dt.datetime(2024, 1, rng.randint(1, 5), rng.randint(0, 23), tzinfo=dt.UTC),
        "price": lambda: Decimal(rng.randint(0, 900)) / 100,
        "tags": lambda: many(rng, lambda: rng.choice(WORDS)),
    }
    return {name: maybe(rng, make) for name, make in makers.items()}


def many(rng: random.Random, make) -> list[object]:
    return [maybe(rng, make) for _ in range(rng.randint(0, 3))]


def row(rng: random.Random, number: int) -> dict[str, object]:
    keys = rng.sample(["app", "env", "a.b"], rng.randint(0, 3))
    makers = {
        "message": lambda: " ".join(rng.choices(WORDS, k=3)),
        "s": lambda: inner(rng),
        "labels": lambda: [(key, maybe(rng, lambda: rng.choice(WORDS))) for key in keys],
        "codes": lambda: [(rng.randint(1, 2), maybe(rng, lambda: rng.randint(0, 9)))],
        "tags": lambda: many(rng, lambda: rng.choice(WORDS)),
        "nums": lambda: many(rng, lambda: rng.randint(0, 9)),
        "items": lambda: many(rng, lambda: inner(rng)),
        "deep": lambda: [("app", many(rng, lambda: inner(rng)))],
    }
    return {"id": number, **{name: maybe(rng, make) for name, make in makers.items()}}


def leaf(rng: random.Random) -> str:
    texts = ["s.name", "labels.app", "labels.env", r"labels.a\.b", "labels.none", "tags", "s.tags"]
    texts += ["items.name", "items.tags", "deep.app.name", "deep.app.tags", "s.none"]
    numbers = ["s.n", "nums", "codes.1", "codes.2", "items.n", "deep.app.n", "s.x", "s.price"]
    word = rng.choice(WORDS)
    shown = f'"{word}"' if " " in word or rng.random() < 0.3 else word.replace(".", r"\.")
    low = rng.randint(-1, 6)
    forms = [
        lambda: f"{rng.choice(texts)}:{shown}",
        lambda: f"{rng.choice(texts)}:{rng.choice(['w*', '*b', 'W?b', '*', '*e*r'])}",
        lambda: f"{rng.choice(texts)}:IN [web db]",
        lambda: f"{rng.choice(texts)}:[db TO web]",
        lambda: f"{rng.choice(texts)}:/[a-w]+/",
        lambda: f'{rng.choice(texts)}:"we"*',
        lambda: f"{rng.choice(numbers)}:{low}",
        lambda: f"{rng.choice(numbers)}:[{low} TO {low + 3}]",
        lambda: f"{rng.choice(numbers)}:>{low}",
        lambda: f"{rng.choice(numbers)}:*",
        lambda: f"{rng.choice(['s.ok', 'items.ok'])}:{rng.choice(['true', 'false'])}",
        lambda: f"{rng.choice(['s.day', 's.at', 'items.at'])}:2024-01-0{rng.randint(1, 5)}",
        lambda: f"{rng.choice(['s.day', 's.at'])}:[2024-01-02 TO 2024-01-03}}",
        lambda: f"message:{rng.choice(['web', 'db', 'prod'])}",
    ]
    return rng.choice(forms)()


def query(rng: random.Random, depth: int = 0) -> str:
    kind = rng.random()
    if depth > 2 or kind < 0.45:
        return leaf(rng)
    if kind < 0.6:
        return f"NOT ({query(rng, depth + 1)})"
    joined = rng.choice([" AND ", " OR "])
    return "(" + joined.join(query(rng, depth + 1) for _ in range(rng.randint(2, 3))) + ")"


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    rng = random.Random(7)
    return pa.Table.from_pylist([row(rng, number) for number in range(200)], SCHEMA)


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory) -> indextables.api.local.Table:
    path = str(tmp_path_factory.mktemp("nested") / "t")
    return indextables.write(rows, path, options=OPTIONS)


def search(table, field: str | None = None) -> RowSearch:
    columns = table._table.columns
    fields = tuple(columns.schema.fields)
    return RowSearch(fields, tuple(describe_rows(fields, columns, "any")), field, "any")


@pytest.mark.parametrize("seed", range(4))
def test_generated_queries_find_the_same_rows(rows, table, seed: int):
    rng = random.Random(seed)
    batch = rows.combine_chunks().to_batches()[0]
    compared = 0
    for _ in range(150):
        text = query(rng)
        try:
            want = sorted(table.search(text, ["id"], None)["id"].to_pylist())
        except IndexTablesError as refused:
            with pytest.raises(IndexTablesError, match=refused.code):
                search(table).match(text, batch)
            continue
        found = rows.filter(search(table).match(text, batch))["id"].to_pylist()
        assert found == want, text
        compared += bool(want)
    assert compared > 60


@pytest.mark.parametrize("field", ["tags", "nums", "s", "labels", "items"])
@pytest.mark.parametrize("text", ["web", "5", "[1 TO 5]", "*", "message:web"])
def test_a_nested_column_may_be_searched_itself(rows, table, field: str, text: str):
    batch = rows.combine_chunks().to_batches()[0]
    where = f"{field} indexquery '{text}'"
    if (field, text) == ("nums", "web"):
        with pytest.raises(IndexTablesError, match="web"):
            table.scan(["id"], where)
        with pytest.raises(IndexTablesError, match="web"):
            search(table, field).match(text, batch)
        return
    want = sorted(table.scan(["id"], where)["id"].to_pylist())
    assert rows.filter(search(table, field).match(text, batch))["id"].to_pylist() == want


@pytest.mark.parametrize(
    "text", ["tags:none OR web", "tags:we* AND prod", "s.name:db OR 5", "NOT (nums:3 OR db)"]
)
def test_words_without_a_field_are_not_looked_up_in_nested_columns(rows, table, text: str):
    batch = rows.combine_chunks().to_batches()[0]
    want = sorted(table.search(text, ["id"], None)["id"].to_pylist())
    assert want
    assert rows.filter(search(table).match(text, batch))["id"].to_pylist() == want


def test_paths_into_json_need_an_index(tmp_path):
    rows = pa.table({"id": [1], "payload": ['{"user": "ann"}']})
    options = {"indexing.typemap.payload": "json"}
    table = indextables.write(rows, str(tmp_path / "t"), options=options)
    with pytest.raises(IndexTablesError, match=r"SEARCH_NOT_PUSHED.*payload\.user"):
        search(table).match("payload.user:ann", rows.to_batches()[0])


def test_empty_batches_match_nothing(rows, table):
    batch = rows.slice(0, 0).combine_chunks().to_batches()
    empty = batch[0] if batch else pa.RecordBatch.from_pylist([], SCHEMA)
    assert search(table).match("tags:web OR labels.app:db OR items.name:x", empty).to_pylist() == []
