"""A checkpoint lists the splits of a version in a different order; answers stay the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

PREDICATES = [
    "dep IS NULL",
    "dep = 'a'",
    "site = 'x'",
    "site IS NULL",
    "n > 2",
    "n = 1",
    "n IS NULL",
]


@pytest.fixture
def path(tmp_path):
    """A table whose splits have different orders by partition and by commit."""
    found = str(tmp_path / "t")
    for dep, site, n in (("b", "y", 4), ("a", "x", None), (None, "y", 1), ("a", None, 3)):
        rows = pa.table(
            {
                "dep": pa.array([dep], pa.string()),
                "site": pa.array([site], pa.string()),
                "n": pa.array([n], pa.int64()),
            }
        )
        indextables.write(rows, found, mode="append", partition_by=["dep", "site"])
    return found


@pytest.mark.parametrize("verb", ["CHECKPOINT", "COMPACT"])
def test_answers_are_the_same_after_a_checkpoint_of_the_same_version(path, verb):
    def answers():
        table = indextables.open(path)
        found = [table.scan(where=where).to_pylist() for where in PREDICATES]
        return [sorted(map(str, rows)) for rows in found], [table.count(w) for w in PREDICATES]

    before = answers()
    assert before[1] == [1, 2, 1, 1, 2, 1, 1]
    execute(f"{verb} INDEXTABLES '{path}'", LocalContext())
    assert answers() == before


def test_a_delete_after_a_checkpoint_finds_its_rows(path):
    assert indextables.open(path).count("dep = 'a'") == 2
    execute(f"COMPACT INDEXTABLES '{path}'", LocalContext())
    assert indextables.delete(path, where="dep = 'a'") == 2
    assert indextables.open(path).count() == 2
