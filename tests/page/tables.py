"""Tables for tests of the page: ordinary, partitioned and changed, hostile, corrupt."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

import indextables
from indextables.cli.sample import events
from indextables.spark.planner import PROTOCOL, dispatch

TEXT = {"indexing.typemap.message": "text"}
SCRIPT = "<script>document.title='owned'</script>"
IMAGE = '"><img src=x onerror="document.title=\'owned\'">'
HOSTILE_COLUMN = "<b onclick=\"document.title='owned'\">c\"'`&"


def write_events(path: str, rows: int = 3_000) -> str:
    """Write log events in three commits, then delete some rows: versions 1 to 4."""
    for part in range(3):
        indextables.write(
            events(rows // 3, seed=part + 1, first_id=part * rows), path, options=TEXT
        )
    delete(path, "level", "DEBUG")
    return path


def delete(path: str, column: str, value: str) -> None:
    predicate = {"op": "=", "args": [{"col": [column]}, {"lit": value, "type": "string"}]}
    body = {"protocol": PROTOCOL, "properties": {"path": path}, "predicates": [predicate]}
    reply, _ = dispatch("delete", json.dumps({**body, "options": {}}))
    assert reply.get("deleted"), reply


def write_partitioned(path: str, options: dict[str, str] | None = None) -> str:
    for day in ("2026-01-01", "2026-01-02"):
        rows = pa.table(
            {
                "id": list(range(30)),
                "day": [day] * 30,
                "message": [
                    f"order {n} {'failed' if n % 3 == 0 else 'shipped'}" for n in range(30)
                ],
            }
        )
        indextables.write(rows, path, partition_by=["day"], options={**TEXT, **(options or {})})
    return path


def write_hostile(path: str) -> str:
    """Write names and values with markup and scripts, invalid UTF-8, and special numbers."""
    rows = pa.table(
        {
            HOSTILE_COLUMN: [SCRIPT, IMAGE, "plain"] * 4,
            "kind": ["<i>a</i>", "' OR 1=1 --", "javascript:alert(1)"] * 4,
            "message": [f"needle {SCRIPT} </textarea>", f"needle <b>{IMAGE}</b>", "needle  ]]>"]
            * 4,
            "weight": [float("nan"), float("inf"), -1e300] * 4,
        }
    )
    indextables.write(rows, path, options=TEXT)
    return path


def write_corrupt(path: str) -> str:
    """Write a table whose newest version file is truncated."""
    write_partitioned(path)
    newest = max((Path(path) / "_transaction_log").glob("0*.json"))
    newest.write_bytes(newest.read_bytes()[:40])
    return path


def write_damaged_split(path: str) -> str:
    """Write a table, and overwrite one of its splits with other bytes."""
    write_partitioned(path)
    split = next(Path(path).rglob("*.split"))
    split.write_bytes(b"\0" * split.stat().st_size)
    return path
