"""Columnar copies in the index make answers faster and never change them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.companions.index import INDEXED, Index
from tests.companions.questions import open_index
from tests.companions.test_life import HandMadeSource

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "key": ["a", "b", "a", None],
        "other": ["x", None, "y", "y"],
    }
)


def built(folder: Path, clauses: str) -> Index:
    """An index of the first half of the rows; the others are pending."""
    source = folder / "source"
    source.mkdir()
    pq.write_table(ROWS.slice(0, 2), source / "a.parquet")
    index = Index(folder, HandMadeSource("PARQUET", source), clauses)
    index.build()
    index.clauses = ""
    pq.write_table(ROWS.slice(2), source / "b.parquet")
    return index


def fast_columns(index: Index) -> set[str]:
    columns = open_index(index.location)._table.columns.infos
    return {info.name for info in columns if info.columnar}


def check(index: Index, **options: str) -> None:
    table = open_index(index.location, **options)
    assert sorted(table.scan(["id"], where="key = 'a'")["id"].to_pylist()) == [1, 3]
    assert sorted(table.scan(["id"], where="key = 'a' AND other = 'y'")["id"].to_pylist()) == [3]
    assert table.count(where="key > 'a'") == 1
    assert table.count(where="key IS NULL OR other IS NULL") == 2
    top = table.scan(["id", "key"], order_by=["key DESC", "id"], limit=2).to_pylist()
    assert top == [{"id": 2, "key": "b"}, {"id": 1, "key": "a"}]
    assert sorted(map(str, table.scan(["key"])["key"].to_pylist())) == ["None", "a", "a", "b"]


@pytest.mark.parametrize("mode", ["string", "exact_only"])
@pytest.mark.parametrize(
    ("clause", "fast"),
    [
        ("FASTFIELDS MODE HYBRID", {"id", "key", "other"}),
        ("FASTFIELDS MODE DISABLED", {"id", "key", "other"}),
        ("FASTFIELDS MODE PARQUET_ONLY", set()),
        ("HASHED FASTFIELDS INCLUDE ('KEY')", {"id", "key"}),
        ("HASHED FASTFIELDS EXCLUDE ('key')", {"id", "other"}),
    ],
)
def test_answers_do_not_depend_on_columnar_copies(
    tmp_path: Path, mode: str, clause: str, fast: set[str]
):
    index = built(tmp_path, f"INDEXING MODES ('key':'{mode}') {clause}")
    if mode == "exact_only":
        # the index has only a hash of each value
        fast = fast - {"key"}
    assert fast_columns(index) == fast
    check(index)
    index.build()
    check(index, **INDEXED)
    if "key" in fast:
        groups = open_index(index.location).aggregate(["count(*)", "sum(id)"], ["key"]).to_pylist()
        assert sorted((str(g["key"]), g["count(*)"], g["sum(id)"]) for g in groups) == [
            ("None", 1, 4),
            ("a", 2, 4),
            ("b", 1, 2),
        ]
