"""Table columns that are named like pseudo columns take precedence."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError

NAMES = ("_split", "_doc", "_score", "_snippet", "_metadata")


def rows(*ids: int) -> pa.Table:
    texts = {name: [f"{name} {i}" for i in ids] for name in NAMES}
    return pa.table({"id": [*ids], "message": [f"word {i}" for i in ids], **texts})


@pytest.fixture
def table(tmp_path):
    """A table whose first split is older than the columns."""
    path = str(tmp_path / "t")
    options = {"indexing.typemap.message": "text"}
    indextables.write(rows(1).select(["id", "message"]), path, options=options)
    indextables.write(rows(2, 3), path, options={"mergeSchema": "true"})
    return path


def test_they_read_as_what_was_written(table):
    found = indextables.open(table).scan().sort_by("id").to_pylist()
    assert found == [
        {"id": 1, "message": "word 1", **dict.fromkeys(NAMES)},
        *rows(2, 3).to_pylist(),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_alone_and_in_predicates_and_orders(table, name):
    opened = indextables.open(table)
    column = opened.scan(columns=[name], order_by=[f"{name} DESC"], limit=3)
    assert column.to_pylist() == [{name: f"{name} 3"}, {name: f"{name} 2"}, {name: None}]
    assert opened.count(f"{name} = '{name} 2'") == 1
    found = opened.search("message:word", columns=["id", name], order_by=["id"])
    assert found.column(name).to_pylist() == [None, f"{name} 2", f"{name} 3"]


def test_what_needs_to_name_rows_says_why_not(table):
    for change in (
        lambda: indextables.delete(table, where="id = 2"),
        lambda: indextables.update(table, {"message": "x"}, where="id = 2"),
        lambda: indextables.open(table).explain_score("message:word"),
    ):
        with pytest.raises(IndexTablesError, match=r"COLUMN_RESERVED.*`_split`"):
            change()
    assert indextables.open(table).count() == 3


def test_upserts_refuse_before_they_change_anything(tmp_path):
    path = str(tmp_path / "t")
    with pytest.raises(IndexTablesError, match=r"COLUMN_RESERVED.*`_split`"):
        indextables.write(rows(1), path, options={"primary-key": "id"})
    with pytest.raises(IndexTablesError, match="TABLE_NOT_FOUND"):
        indextables.open(path)
