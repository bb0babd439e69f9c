"""Queries with corrections of misspelled words."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables

ROWS = pa.table(
    {
        "title": ["disk full", "network down"],
        "message": ["the disk is full on node 7", "connection reset by peer"],
        "level": ["ERROR", "WARN"],
    }
)
OPTIONS = {"indexing.typemap.title": "text", "indexing.typemap.message": "text"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("correct") / "table")
    return indextables.write(ROWS, path, options=OPTIONS)


@pytest.mark.parametrize(
    ("query", "better"),
    [
        ("conection", "connection"),
        ("message:conection AND level:WARN", "message:connection AND level:WARN"),
        ('"conection reset"', '"connection reset"'),
        ("netwrk OR dsik", "network OR disk"),
        ("connection", None),
        ("disk AND network", None),
        ("xyzzy", None),
        ("conection AND xyzzy", None),
        ("conecti*", None),
        ("conection~1", None),
        ("level:WARM", None),
        ("message:(", None),
        ("nosuch:field", None),
    ],
)
def test_words_of_no_row_are_replaced_by_similar_ones(table, query, better):
    assert table.did_you_mean(query) == better


def test_the_condition_counts(table):
    assert table.did_you_mean("conection", "level = 'WARN'") == "connection"
    assert table.did_you_mean("conection", "level = 'ERROR'") is None


def test_words_of_all_text_columns_are_suggested(table):
    assert table.suggest("ne")["word"].to_pylist() == ["network"]
    assert table.suggest("d")["word"].to_pylist() == ["disk", "down"]
    assert table.suggest("d", "message")["word"].to_pylist() == ["disk"]
    assert table.suggest("WA", "level")["word"].to_pylist() == ["WARN"]
