"""A search that finds nothing for a known reason shows a hint once."""

from __future__ import annotations

import logging
import uuid

import pyarrow as pa
import pytest

import indextables


@pytest.fixture
def table(tmp_path):
    """A text column and a string column, whose names no other test uses."""
    text, string = (f"{kind}_{uuid.uuid4().hex[:8]}" for kind in ("text", "string"))
    rows = pa.table({text: ["disk full", "disk ok"], string: ["node one", "node two"]})
    options = {f"indexing.typemap.{text}": "text"}
    indextables.write(rows, str(tmp_path / "t"), options=options)
    return indextables.open(str(tmp_path / "t")), text, string


def warnings_about(caplog, column) -> list[str]:
    return [r.getMessage() for r in caplog.records if column in r.getMessage()]


def test_a_text_compared_as_a_whole_warns_once_whatever_is_asked(table, caplog):
    caplog.set_level(logging.WARNING)
    opened, text, _ = table
    where = f"{text} = 'disk'"
    assert opened.aggregate({"n": "count(*)"}, where=where).to_pylist() == [{"n": 0}]
    assert len(warnings_about(caplog, text)) == 1
    assert "indexquery" in warnings_about(caplog, text)[0]
    opened.aggregate({"n": "count(*)"}, where=where)
    opened.scan(where=where)
    assert len(warnings_about(caplog, text)) == 1


def test_rows_that_are_found_need_no_warning(table, caplog):
    caplog.set_level(logging.WARNING)
    opened, text, _ = table
    opened.aggregate({"n": "count(*)"}, where=f"{text} = 'disk full'")
    opened.scan(where=f"{text} = 'disk full'")
    assert warnings_about(caplog, text) == []
