"""Distinct values whose sum does not fit a long: only a sum of them fails."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError

MOST = 2**63 - 1


@pytest.fixture(params=["one", "two"])
def table(tmp_path, request):
    """The same rows in one split, and in two."""
    rows = pa.table({"n": [MOST, MOST - 1, MOST], "of": ["a", "a", "b"]})
    parts = [rows] if request.param == "one" else [rows.slice(0, 2), rows.slice(2)]
    return [indextables.write(part, str(tmp_path / "t")) for part in parts][-1]


def test_large_values_are_counted(table):
    found = table.aggregate(["count(distinct n)", "max(n)"]).to_pylist()
    assert found == [{"count(distinct n)": 2, "max(n)": MOST}]
    by = table.aggregate({"n": "count(distinct n)"}, by=["of"], order_by=["of"]).to_pylist()
    assert by == [{"of": "a", "n": 2}, {"of": "b", "n": 1}]


def test_their_average_is_a_double(table):
    assert table.aggregate({"mean": "avg(distinct n)"})["mean"].to_pylist() == [float(MOST)]


def test_their_sum_fails_and_names_the_column(table):
    with pytest.raises(IndexTablesError, match=r"ARITHMETIC_OVERFLOW.*`n`"):
        table.aggregate(["sum(distinct n)"])
    with pytest.raises(IndexTablesError, match=r"ARITHMETIC_OVERFLOW.*`n`"):
        table.aggregate(["sum(n)", "count(distinct of)"])
