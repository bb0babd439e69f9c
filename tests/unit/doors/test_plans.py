"""Repeated statements are planned once per version, and answered from its rows."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError


@pytest.fixture
def path(tmp_path):
    rows = pa.table({"id": list(range(6)), "level": ["a", "b"] * 3, "body": ["x y", "y"] * 3})
    where = str(tmp_path / "t")
    indextables.write(rows, where, options={"indexing.typemap.body": "text"})
    return where


def test_statements_that_differ_in_one_part_have_answers_of_their_own(path):
    table = indextables.open(path)
    for _ in range(2):
        assert table.scan(where="id = 1").to_pylist() == [{"id": 1, "level": "b", "body": "y"}]
        assert table.scan(["level"], where="id = 1").to_pylist() == [{"level": "b"}]
        assert table.scan(["id"], where="id > 1", limit=1).num_rows == 1
        assert table.scan(["id"], where="id > 1", limit=2).num_rows == 2
        assert table.scan(["id"], order_by=["id"], limit=1)["id"].to_pylist() == [0]
        assert table.scan(["id"], order_by=["id DESC"], limit=1)["id"].to_pylist() == [5]
        assert table.scan(["id"], order_by=["id"], limit=1, offset=2)["id"].to_pylist() == [2]
        assert table.scan(["id"], query="body:x")["id"].to_pylist() == [0, 2, 4]
        assert table.scan(["id"], where="level = 'b'")["id"].to_pylist() == [1, 3, 5]
        assert table.count(where="level = 'b'") == 3
        assert table.count(query="body:y") == 6
        assert table.count(query="body:x") == 3
        assert table.search("x", ["id"], limit=2).num_rows == 2
        assert table.search("x", ["id"], limit=1, score=True).column_names == ["id", "_score"]
        assert table.aggregate(["count(*)"])["count(*)"].to_pylist() == [6]
        assert table.aggregate(["count(*)"], where="id < 2")["count(*)"].to_pylist() == [2]
        assert table.aggregate(["count(*)"], by=["level"]).num_rows == 2
        assert table.aggregate(["max(id)"])["max(id)"].to_pylist() == [5]


def test_a_newer_version_is_planned_anew(path):
    before = indextables.open(path)
    assert before.count(query="body:x") == 3
    after = indextables.write(pa.table({"id": [9], "level": ["a"], "body": ["x"]}), path)
    assert (before.count(query="body:x"), after.count(query="body:x")) == (3, 4)
    assert indextables.open(path).count(query="body:x") == 4


def test_a_failing_statement_fails_again(path):
    table = indextables.open(path)
    for _ in range(2):
        with pytest.raises(IndexTablesError, match="there is no column"):
            table.count(where="nothing = 1")


def test_now_is_the_time_of_each_call(tmp_path):
    soon = time.time_ns() // 1000 + 300_000
    stamps = pa.array([soon], pa.timestamp("us", tz="UTC"))
    table = indextables.write(pa.table({"ts": stamps}), str(tmp_path / "t"))
    deadline = time.monotonic() + 60
    while not table.count(query="ts:[1970-01-01 TO now]"):
        assert time.monotonic() < deadline
    assert time.time_ns() // 1000 >= soon


def test_plans_that_are_not_asked_for_again_are_few(path):
    table = indextables.open(path)
    for number in range(300):
        assert table.count(where=f"id = {number}") == (number < 6)
    assert len(table._plans) == 256
