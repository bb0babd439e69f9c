"""The documents of the wire format, kept in golden files and checked from both sides.

`INDEXTABLES_GOLDEN=write` rewrites them from what the hooks send.
"""

from __future__ import annotations

import json
import os

import pytest

from indextables.expr.predicate import parse_predicate
from indextables.spark.explain import render

COLUMNS = (
    "id LONG, small SHORT, name STRING, flag BOOLEAN, ratio DOUBLE, thin FLOAT, "
    "price DECIMAL(10,2), day DATE, ts TIMESTAMP, local TIMESTAMP_NTZ, raw BINARY, "
    "nested STRUCT<a: LONG, b: STRING>, list ARRAY<STRING>"
)
CONDITIONS = {
    "comparisons": "id = 1 AND small < 2 AND name >= 'x' AND ratio <> 1.5 AND price <=> 12.30",
    "values": "flag AND thin > cast('NaN' AS float) AND raw = X'00FF' AND day = DATE'2026-01-31' "
    "AND ts > TIMESTAMP'2026-01-31 12:00:00' AND local < TIMESTAMP_NTZ'2026-01-31 12:00:00'",
    "logic": "NOT (id = 1 OR name IS NULL) AND (id IN (1, 2, 3) OR name IS NOT NULL)",
    "patterns": "name LIKE 'a%' AND name LIKE '%b' AND name LIKE '%c%'",
    "nested": "nested.a = 7 AND nested.b = 'x'",
    "search": "name indexquery 'a OR b' AND (name fieldmatch 'd' OR id = 3) "
    "AND * indexquery 'name:e' AND id indexquery '42'",
}


def sent(spark, path: str, condition: str) -> list:
    """The predicates that the hooks sent for a condition and Python accepted."""
    frame = spark.read.format("indextables").load(path).where(condition)
    leaf = frame._jdf.queryExecution().optimizedPlan().collectLeaves().head()
    return json.loads(leaf.scan().request().get("predicates").toString())


@pytest.fixture(scope="module")
def empty_table(spark, tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("golden") / "table")
    spark.sql(f"CREATE TABLE indextables.`{path}` ({COLUMNS})")
    return path


@pytest.mark.parametrize("name", sorted(CONDITIONS))
def test_hooks_send_what_the_golden_file_says(spark, empty_table, golden, name):
    document = sent(spark, empty_table, CONDITIONS[name])
    file = golden / f"{name}.json"
    if os.environ.get("INDEXTABLES_GOLDEN") == "write":
        lines = ",\n".join(json.dumps(value, ensure_ascii=False) for value in document)
        file.write_text(f"[\n{lines}\n]\n", "utf-8")
    assert document == json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(CONDITIONS))
def test_python_reads_what_the_golden_file_says(golden, name):
    document = json.loads((golden / f"{name}.json").read_text("utf-8"))
    for value in document:
        assert "Opaque" not in repr(parse_predicate(value)), render(value)
