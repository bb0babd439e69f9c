"""Every example of the query language page finds what it says, with and without an index."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import indextables
from indextables.engine.query import Query, at_time, match_rows
from indextables.plan.matching import describe_rows, query_tree

PAGE = (Path(__file__).resolve().parents[2] / "docs/guides/query-language.md").read_text("utf-8")
OPTIONS = {"indexing.typemap.title": "text", "indexing.typemap.message": "text"}
NOW = 1_790_000_000_000_000  # in 2026, later than every row


def cells(text: str) -> list[list[str]]:
    lines = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


ROWS = cells(PAGE.partition("| id |")[2].partition("## ")[0].replace("|---|", "| x |\n|---|", 1))
FORMS = cells(PAGE.partition("## Every form")[2].partition("A search of one column")[0])


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    found = [
        dict(zip(["id", "title", "message", "level", "status", "ts"], row, strict=True))
        for row in ROWS
    ]
    table = pa.Table.from_pylist(found)
    types = {"id": pa.int64(), "status": pa.int32(), "ts": pa.timestamp("us", "UTC")}
    fields = [pa.field(f.name, types.get(f.name, f.type)) for f in table.schema]
    return table.cast(pa.schema(fields))


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    return indextables.write(rows, str(tmp_path_factory.mktemp("forms")), options=OPTIONS)


def test_the_page_is_read():
    assert len(ROWS) == 5
    assert len(FORMS) == 37


@pytest.mark.parametrize(("form", "finds"), [(row[0].strip("`"), row[1]) for row in FORMS])
def test_a_form_finds_what_the_page_says(rows, table, form: str, finds: str):
    wanted = [int(number) for number in re.findall(r"\d+", finds)]
    assert sorted(table.search(form, ["id"], None)["id"].to_pylist()) == wanted
    columns = table._table.columns
    described = describe_rows(columns.schema.fields, columns, "any")
    compiled = Query(query_tree(at_time(form, NOW), None, "any"))
    batch = rows.combine_chunks().to_batches()[0]
    assert rows.filter(match_rows(compiled, batch, described))["id"].to_pylist() == wanted
