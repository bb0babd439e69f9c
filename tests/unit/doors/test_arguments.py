"""Wrong arguments in plain Python raise one error that names them, and change nothing."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError, InvalidError

ROWS = pa.table(
    {
        "id": pa.array(range(4), pa.int64()),
        "title": ["disk full", "net down", "new disk", None],
        "level": ["E", "E", "W", None],
    }
)


@pytest.fixture
def table(table_path: str) -> Any:
    return indextables.write(ROWS, table_path, options={"indexing.typemap.title": "text"})


def test_a_text_alone_is_a_list_of_one(table, tmp_path):
    assert table.scan("id", order_by="id DESC", limit=1)["id"].to_pylist() == [3]
    assert table.search("disk", "id", fields="title").num_rows == 2
    found = table.aggregate("count(*)", by="level", order_by="level DESC")
    assert found.to_pydict() == {"level": ["W", "E", None], "count(*)": [1, 2, 1]}
    by = indextables.write(ROWS, str(tmp_path / "by"), partition_by="level")
    assert by.partition_columns == ("level",)


def test_paths_and_timestamps_are_what_python_has_for_them(table, table_path):
    assert indextables.open(Path(table_path)).num_rows == 4
    indextables.write({"id": [9]}, Path(table_path))
    assert indextables.delete(Path(table_path), where="id = 9") == 1
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    for given in (later, later.replace(tzinfo=None), later.timestamp(), int(later.timestamp())):
        assert indextables.open(table_path, timestamp=given).num_rows == 4


HALF = "x\udcff"  # what Python makes of an argument of a command that is no text


@pytest.mark.parametrize(
    "call",
    [
        lambda table, path: indextables.open(path + HALF),
        lambda table, path: indextables.open(path, options={"userMetadata": HALF}),
        lambda table, path: table.search(HALF),
        lambda table, path: table.count(query=HALF),
        lambda table, path: table.analyze(HALF, "title"),
    ],
)
def test_half_characters_are_no_text(table, table_path, call):
    with pytest.raises(IndexTablesError, match="ARGUMENT_INVALID"):
        call(table, table_path)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda t, _: t.scan(limit=-1), "limit"),
        (lambda t, _: t.scan(limit="3"), "limit"),
        (lambda t, _: t.scan(limit=2.5), "limit"),
        (lambda t, _: t.scan(offset=-1), "offset"),
        (lambda t, _: t.scan([1]), "columns"),
        (lambda t, _: t.scan(5), "columns"),
        (lambda t, _: t.scan(order_by=[None]), "order_by"),
        (lambda t, _: t.scan(where=5), "where"),
        (lambda t, _: t.scan(query=5), "query"),
        (lambda t, _: t.search(None), "query"),
        (lambda t, _: t.search("disk", limit=-1), "limit"),
        (lambda t, _: t.search("disk", fields={"title": "high"}), "fields"),
        (lambda t, _: t.search("disk", fields={"title": -1}), "fields"),
        (lambda t, _: t.search("disk", fields={"title": float("nan")}), "fields"),
        (lambda t, _: t.count(True), "where"),
        (lambda t, _: t.aggregate({1: "count(*)"}), "functions"),
        (lambda t, _: t.aggregate("count(*)", limit=-1), "limit"),
        (lambda t, _: t.suggest(5), "text"),
        (lambda t, _: t.suggest("d", limit=-1), "limit"),
        (lambda t, _: t.significant_terms("title", sample=-1), "sample"),
        (lambda t, _: t.changes("0"), "first"),
        (lambda t, _: t.history("1"), "limit"),
        (lambda _, path: indextables.open(None), "path"),
        (lambda _, path: indextables.open(""), "path"),
        (lambda _, path: indextables.open("a\0b"), "path"),
        (lambda _, path: indextables.open(path, version="0"), "version"),
        (lambda _, path: indextables.open(path, version=True), "version"),
        (lambda _, path: indextables.open(path, timestamp=[1]), "timestamp"),
        (lambda _, path: indextables.open(path, options="abc"), "options"),
        (lambda _, path: indextables.write(ROWS, path, partition_by=[1]), "partition_by"),
        (lambda _, path: indextables.write(ROWS, ""), "path"),
        (lambda _, path: indextables.delete(5), "path"),
        (lambda _, path: indextables.delete(path, where=0), "where"),
        (lambda _, path: indextables.update(path, {"level": "X"}, where=False), "where"),
        (lambda _, path: indextables.update(path, {}), "values"),
        (lambda _, path: indextables.update(path, [("level", "X")]), "values"),
    ],
)
def test_an_error_names_the_argument(table, table_path, call, argument):
    with pytest.raises(InvalidError, match=rf"ARGUMENT_INVALID\] `{argument}` is "):
        call(table, table_path)
    assert indextables.open(table_path).version == table.version


def test_more_rows_than_there_can_be_are_all_rows(table):
    assert table.scan(limit=10**30).num_rows == 4
    assert table.scan(limit=2, offset=10**30).num_rows == 0


@pytest.mark.parametrize("where", ["", "  "])
def test_an_empty_condition_is_not_all_rows(table, table_path, where):
    for call in (
        lambda: indextables.delete(table_path, where=where),
        lambda: indextables.update(table_path, {"level": "X"}, where=where),
        lambda: table.scan(where=where),
        lambda: indextables.write(
            ROWS.slice(0, 1), table_path, "overwrite", options={"replaceWhere": where}
        ),
    ):
        with pytest.raises(InvalidError, match="CONDITION_INVALID"):
            call()
    assert indextables.open(table_path).num_rows == 4


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("append", {"replaceWhere": "id = 1"}),
        ("ignore", {"replaceWhere": "id = 1"}),
        ("overwrite", {"replaceWhere": "id = 1", "overwriteSchema": "true"}),
    ],
)
def test_a_condition_that_would_be_ignored_is_refused(table, table_path, mode, options):
    with pytest.raises(InvalidError, match="REPLACE_WHERE_CLASH"):
        indextables.write(ROWS.slice(1, 1), table_path, mode, options=options)
    assert indextables.open(table_path).num_rows == 4


def test_a_version_and_a_timestamp_are_too_much(table_path, table):
    with pytest.raises(InvalidError, match="VERSION_AND_TIMESTAMP"):
        indextables.open(table_path, version=0, timestamp="2999-01-01")


def test_a_function_may_not_hide_a_key(table):
    with pytest.raises(InvalidError, match=r"AGGREGATE_NAME_TWICE.*`level`"):
        table.aggregate({"level": "count(*)"}, by="level")


def test_dictionaries_are_rows(table_path):
    made = indextables.write([{"id": 1, "s": "a"}, {"id": 2, "s": None}], table_path)
    assert made.scan(order_by="id").to_pydict() == {"id": [1, 2], "s": ["a", None]}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, "DATA_INVALID"),
        ("abc", "DATA_INVALID"),
        ([1, 2], "DATA_INVALID"),
        ({"a": [1, "x"]}, "DATA_INVALID"),
        ({"a": [1], "b": [1, 2]}, "DATA_INVALID"),
        ({"a": [2**64]}, "DATA_INVALID"),
        ({"a": ["\ud800"]}, "DATA_INVALID"),
        ({}, "SCHEMA_EMPTY"),
        ([], "SCHEMA_EMPTY"),
    ],
)
def test_data_that_is_not_a_table_creates_none(tmp_path, data, code):
    with pytest.raises(IndexTablesError, match=code):
        indextables.write(data, tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("by", "code"), [(["b"], "PARTITION_TYPE"), (["c", "C"], "PARTITION_COLUMN_TWICE")]
)
def test_columns_that_cannot_be_partitions_are_refused(tmp_path, by, code):
    with pytest.raises(IndexTablesError, match=code):
        indextables.write({"a": [1], "b": [[1]], "c": [2]}, tmp_path / "t", partition_by=by)
    assert not (tmp_path / "t").exists()


def test_conditions_and_keys_name_members_and_fractions(table_path):
    rows = [{"id": n, "who": {"age": n % 3, "name": "ab"[n % 2]}} for n in range(9)]
    made = indextables.write([*rows, {"id": None, "who": None}], table_path)
    assert made.count("who.age >= 1 AND who.name = 'a'") == 3
    assert made.count("who.age > 0.5") == 6
    assert made.count("id IN (1, 2.5) OR id BETWEEN 6.5 AND 7.5 OR id = 8.0") == 3
    assert made.count("NOT (id = 0.5)") == 9
    found = made.aggregate({"n": "sum(who.age)"}, by="who.name", order_by="who.name")
    assert found.to_pydict() == {"who.name": [None, "a", "b"], "n": [None, 5, 4]}
    assert indextables.delete(table_path, where="who.age = 2") == 3


def test_a_search_of_a_partition_column_says_so(tmp_path):
    options = {"indexing.typemap.title": "text"}
    by = indextables.write(ROWS, tmp_path / "by", partition_by="level", options=options)
    for call in (
        lambda: by.search("level:E"),
        lambda: by.search("E", fields="level"),
        lambda: by.count("title indexquery 'disk AND level:E'"),
    ):
        with pytest.raises(InvalidError, match=r"QUERY_PARTITION_FIELD.*`level`.*WHERE"):
            call()
    assert by.count("level = 'E' AND title indexquery 'disk'") == 1
    assert by.count("title TEXTSEARCH 'level:E'") == 0
