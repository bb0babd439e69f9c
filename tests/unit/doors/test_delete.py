"""Deletes by predicate run without a job if finding the rows reads little data."""

from __future__ import annotations

import json
import random

import pyarrow as pa

import indextables
from indextables.spark.planner import PROTOCOL, dispatch

ROWS, SPLITS = 4000, 3
# less than the table, more than opening one split and looking up a value
LIMIT = 512 << 10


def write(path: str) -> None:
    chosen = random.Random(1)
    for split in range(SPLITS):
        ids = list(range(split * ROWS, (split + 1) * ROWS))
        texts = [chosen.randbytes(60).hex() for _ in ids]
        indextables.write(pa.table({"id": ids, "text": texts}), path)


def ask(operation: str, path: str, predicate: dict) -> dict:
    options = {"read.local.maxBytes": str(LIMIT)}
    body = {"protocol": PROTOCOL, "properties": {"path": path}, "options": options}
    reply, _ = dispatch(operation, json.dumps({**body, "predicates": [predicate]}))
    assert "error" not in reply, reply
    return reply


def compare(op: str, name: str, value: object, kind: str) -> dict:
    return {"op": op, "args": [{"col": [name]}, {"lit": value, "type": kind}]}


def test_a_delete_that_reads_little_of_a_large_table_needs_no_job(table_path):
    write(table_path)
    table = indextables.open(table_path)
    assert table.size_bytes > LIMIT
    one = compare("=", "id", 7, "long")
    assert ask("can_delete", table_path, one) == {"ok": True}
    assert ask("can_delete", table_path, compare("CONTAINS", "text", "ab", "string")) == {
        "ok": False
    }
    assert ask("delete", table_path, one)["deleted"] == 1
    left = indextables.open(table_path)
    assert left.count() == SPLITS * ROWS - 1
    assert left.count("id = 7") == 0


def test_rows_of_several_splits_are_deleted_at_once(table_path):
    write(table_path)
    ends = {"op": "IN", "args": [{"col": ["id"]}, *(
        {"lit": value, "type": "long"} for value in (0, ROWS, 2 * ROWS, -1)
    )]}  # fmt: skip
    assert ask("delete", table_path, ends)["deleted"] == SPLITS
    assert indextables.open(table_path).count() == SPLITS * ROWS - SPLITS
    assert ask("delete", table_path, compare("=", "id", -1, "long")) == {"deleted": 0}
