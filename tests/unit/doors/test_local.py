"""`indextables.open`: a table without Spark."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import indextables
from indextables.errors import IndexTablesError, QuerySyntaxError, TableNotFoundError


@pytest.fixture(scope="module")
def logs(fixtures: Path) -> Path:
    return fixtures / "indextables-0.5.5" / "logs_small"


@pytest.fixture(scope="module")
def expected(logs: Path) -> pa.Table:
    return pq.read_table(logs / "expected.parquet").sort_by("id")


def test_open_tells_what_the_table_is(logs: Path, expected: pa.Table):
    table = indextables.open(str(logs / "table"))
    assert table.version == 1
    assert table.num_rows == expected.num_rows
    assert table.num_files == table.files().num_rows == 2
    assert set(table.schema.names) == set(expected.schema.names)
    assert [entry["version"] for entry in table.history()] == [1, 0]


def test_open_reads_an_older_version(logs: Path):
    assert indextables.open(str(logs / "table"), version=0).num_rows == 0


def test_a_table_is_sent_to_other_processes(logs: Path):
    table = indextables.open(str(logs / "table"), version=0, options={"read.score": "split"})
    for sent in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert (repr(sent), sent.num_rows) == (repr(table), 0)


def test_scan_returns_exactly_the_rows(logs: Path, expected: pa.Table):
    found = indextables.open(str(logs / "table")).scan(expected.schema.names).sort_by("id")
    assert found.to_pylist() == expected.to_pylist()


def test_scan_with_a_condition_returns_what_it_holds_for(logs: Path, expected: pa.Table):
    found = indextables.open(str(logs / "table")).scan(["id"], where="level = 'ERROR' AND id < 500")
    wanted = expected.filter((pc.field("level") == "ERROR") & (pc.field("id") < 500))
    assert sorted(found["id"].to_pylist()) == wanted["id"].to_pylist()


def test_search_returns_the_best_rows_first(logs: Path):
    found = indextables.open(str(logs / "table")).search(
        "message:error", ["message"], limit=5, score=True
    )
    scores = found["_score"].to_pylist()
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 5
    assert all("error" in text for text in found["message"].to_pylist())


def test_search_without_a_text_column_has_no_snippets(table_path):
    indextables.write(pa.table({"id": [1], "state": ["up"]}), table_path)
    found = indextables.open(table_path).search("state:up", snippet=True)
    assert found.select(["id", "_snippet"]).to_pylist() == [{"id": 1, "_snippet": None}]


def test_scores_and_snippets_come_only_when_asked_for(logs: Path):
    table = indextables.open(str(logs / "table"))
    assert table.search("message:error", ["id"]).column_names == ["id"]
    both = table.search("message:error", ["id"], score=True, snippet=True)
    assert both.column_names == ["id", "_score", "_snippet"]
    assert all("error" in text.lower() for text in both["_snippet"].to_pylist())


def test_open_says_when_there_is_no_table(tmp_path: Path):
    with pytest.raises(TableNotFoundError, match="TABLE_NOT_FOUND"):
        indextables.open(str(tmp_path))


def test_search_points_at_the_error_in_the_text(logs: Path):
    with pytest.raises(QuerySyntaxError, match="position 8"):
        indextables.open(str(logs / "table")).search("message:(a")


def test_an_unknown_column_is_named(logs: Path):
    with pytest.raises(IndexTablesError, match=r"COLUMN_UNKNOWN.*nope"):
        indextables.open(str(logs / "table")).scan(["nope"])
