"""`indextables.delete` and `indextables.update`, compared with plain Python."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError

LEVELS = ("INFO", "WARN", "ERROR", None)
WORDS = ("timeout", "payment", "cart")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("level", pa.string()),
        ("message", pa.string()),
        ("day", pa.date32()),
        ("tags", pa.list_(pa.string())),
    ]
)
TEXT = {"indexing.typemap.message": "text"}


def make_rows(seed: int, count: int = 300, first: int = 0) -> list[dict]:
    chosen = random.Random(seed)
    return [
        {
            "id": first + i,
            "level": chosen.choice(LEVELS),
            "message": " ".join(chosen.sample(WORDS, chosen.randint(1, 3))),
            "day": dt.date(2026, 1, 1) + dt.timedelta(days=chosen.randrange(3)),
            "tags": chosen.choice([None, [], ["a", "b"]]),
        }
        for i in range(count)
    ]


@pytest.fixture(params=["plain", "partitioned", "keyed"])
def table(request, table_path):
    """A table of two splits or more, and its rows."""
    options, parts = dict(TEXT), ()
    if request.param == "partitioned":
        parts = ("level",)
    if request.param == "keyed":
        options["primary-key"] = "id"
    rows = []
    for seed in range(2):
        part = make_rows(seed, first=seed * 300)
        data = pa.Table.from_pylist(part, SCHEMA)
        indextables.write(data, table_path, partition_by=parts, options=options)
        rows += part
    return table_path, rows


def live(path: str) -> list[dict]:
    return sorted(indextables.open(path).scan().to_pylist(), key=lambda row: row["id"])


def test_a_predicate_and_a_query_choose_the_rows_to_delete(table):
    path, rows = table
    gone = [r for r in rows if r["id"] < 400 and "timeout" in r["message"]]
    assert indextables.delete(path, "id < 400", query="message:timeout") == len(gone)
    assert live(path) == [row for row in rows if row not in gone]
    assert indextables.delete(path, "id < 400", query="message:timeout") == 0
    version = indextables.open(path).version
    assert indextables.open(path, version=version - 1).count() == len(rows)


def test_without_a_predicate_all_rows_go(table):
    path, rows = table
    assert indextables.delete(path) == len(rows)
    assert live(path) == []


def test_an_update_sets_columns_of_every_type(table):
    path, rows = table
    values = {"message": "cart refunded", "day": dt.date(2026, 2, 2), "tags": ["x"]}
    changed = indextables.update(path, values, where="level = 'ERROR' AND id >= 100")
    wanted = [{**r, **values} if r["level"] == "ERROR" and r["id"] >= 100 else r for r in rows]
    assert changed == sum(before != after for before, after in zip(rows, wanted, strict=True))
    assert live(path) == wanted
    # the index finds the new words, and no longer the old ones
    assert indextables.open(path).count(query="message:refunded") == changed


def test_an_update_moves_rows_to_another_partition(table):
    path, rows = table
    moved = indextables.update(path, {"level": None}, where="level IS NOT NULL")
    assert moved == sum(row["level"] is not None for row in rows)
    assert live(path) == [{**row, "level": None} for row in rows]


def test_an_update_shows_in_the_change_feed(table):
    path, rows = table
    before = indextables.open(path).version
    assert indextables.update(path, {"level": "DEBUG"}, where="id = 7") == 1
    feed = indextables.open(path).changes(before + 1).to_pylist()
    assert [(row["_change_type"], row["level"]) for row in feed] == [
        ("update_preimage", rows[7]["level"]),
        ("update_postimage", "DEBUG"),
    ]


def test_nothing_found_is_no_commit(table):
    path, _ = table
    version = indextables.open(path).version
    assert indextables.update(path, {"level": "DEBUG"}, where="id = -1") == 0
    assert indextables.delete(path, "id = -1") == 0
    assert indextables.open(path).version == version


def test_what_cannot_be_changed_is_said(table):
    path, rows = table
    with pytest.raises(IndexTablesError, match=r"COLUMN_UNKNOWN.*nope"):
        indextables.update(path, {"nope": 1}, where="id = 1")
    with pytest.raises(IndexTablesError, match=r"CONDITION_INVALID|SQL_SYNTAX"):
        indextables.delete(path, "id ?? 1")
    assert live(path) == rows


@pytest.mark.parametrize(
    ("column", "value"),
    [("n", 1.5), ("n", Decimal("1.5")), ("n", float("nan")), ("d", 1.5), ("d", float("inf")),
     ("s", "\udcff"), ("s", 1), ("n", object()),
     ("p", {"n": 1.5}), ("p", {"unknown": 1}), ("p", {"l": [1, 2.5]}), ("p", {"m": {"a": 0.5}})],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_an_error(table_path, column, value):
    members = {"n": pa.int32(), "l": pa.list_(pa.int32()), "m": pa.map_(pa.string(), pa.int32())}
    columns = {"n": pa.array([1], pa.int8()), "d": pa.array([0], pa.date32()), "s": ["a"]}
    columns["p"] = pa.array([None], pa.struct(list(members.items())))
    before = indextables.write(pa.table(columns), table_path)
    with pytest.raises(IndexTablesError, match=f"DATA_BAD_VALUE.*`{column}`"):
        indextables.update(table_path, {column: value})
    assert indextables.update(table_path, {"n": 2.0, "p": {"l": [1, 2.0], "m": {"a": 1}}}) == 1
    assert indextables.open(table_path).version == before.version + 1
