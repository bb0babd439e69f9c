"""Pages of tables whose values and columns are unusual."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from tests.unit.expr.test_objects import strings

import indextables
from indextables.page.pages import Pages


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    days = pa.array([2_932_897, -719_163], pa.int32()).cast(pa.date32())
    nested = pa.StructArray.from_arrays([strings(b"\xff", b"x"), days], ["text", "day"])
    rows = pa.table({"m": ["a b", "b"], "day": days, "s": nested})
    path = str(tmp_path / "table")
    indextables.write(rows, path, options={"indexing.typemap.m": "text"})
    return Pages([path], {})


@pytest.mark.parametrize("pairs", [[], [("q", "m:b")], [("sort", "day"), ("dir", "asc")]])
def test_years_beyond_those_of_python_are_shown(pages, pairs):
    status, _, body = pages.answer("t/0/search", pairs)
    assert status == 200
    assert "+10000-01-01" in body
    assert "0000-12-31" in body


def test_a_column_without_times_has_no_chart(pages):
    _, _, body = pages.answer("t/0/chart.json", [("time", "m")])
    assert json.loads(body) == {}
    _, _, body = pages.answer("t/0/chart.json", [("time", "day")])
    assert "chart" in json.loads(body)


@pytest.mark.parametrize("path", ["nope", "t/0/nope", "t/x/search", "t/9/search"])
def test_a_page_that_is_not_there_is_not_found(pages, path):
    assert pages.answer(path, [])[0] == 404
