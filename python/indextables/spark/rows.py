"""DELETE, UPDATE and MERGE INTO for the hooks."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from indextables.config import read as keys
from indextables.expr.predicate import parse_predicate
from indextables.log.transaction import Operation
from indextables.plan.filters import plan_filters
from indextables.read.rows import DOC, PSEUDO, SPLIT, read_table
from indextables.rows.change_rows import OPERATIONS, joined, positions
from indextables.rows.commit_rows import RowChange, commit_rows
from indextables.save.commit import discard_staged
from indextables.spark import scan
from indextables.spark.request import Request
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from indextables.save.splits import WriteSpec, WrittenSplit

_ROW_ID = [
    {"name": name, "type": kind, "nullable": True, "metadata": {}}
    for name, kind in ((SPLIT, "string"), (DOC, "long"))
]


def can_delete(request: Request) -> dict[str, Any]:
    """Whether the index alone finds the rows, and the planner can do it without a job."""
    table = open_table(request)
    predicates = [parse_predicate(value) for value in request.body["predicates"]]
    exact = plan_filters(predicates, table.columns, time_zone=request.time_zone).exact
    small = table.snapshot.size_bytes <= table.settings.get(keys.LOCAL_MAX_BYTES)
    return {"ok": exact and small}


def delete(request: Request) -> dict[str, Any]:
    """Delete the rows of predicates that the index answers exactly."""
    table = open_table(request)
    columns = {"type": "struct", "fields": _ROW_ID}
    ids = Request({**request.body, "wire": columns, "schema": columns})
    assert PSEUDO.keys() >= {SPLIT, DOC}
    task, sources = scan.plan_rows(ids)
    deleted = positions(read_table(task.spec, sources))
    if not deleted:
        return {"deleted": 0}
    change = RowChange(Operation.DELETE, deleted)
    done = commit_rows(table.log, change, table.snapshot, table.settings)
    return {"deleted": sum(len(b) for b in deleted.values()), "version": done.version}


def commit(request: Request, splits: list[WrittenSplit], write: WriteSpec) -> dict[str, Any]:
    """Commit what the tasks of a row-level command found and wrote."""
    table = open_table(request)
    reports = [message for message in request.body["messages"] if message]
    deleted, updated = (
        joined({path: _bitmap(t) for path, t in r[key].items()} for r in reports)
        for key in ("deleted", "updated")
    )
    if not deleted and not splits:
        return {"version": table.snapshot.version}
    updated |= {s.path: _bitmap(s.updated) for s in splits if s.updated is not None}
    command = request.body["command"]
    # in an update every row is one that changed: nothing to tell apart
    apart = updated if command == "MERGE" else {}
    change = RowChange(OPERATIONS[command], deleted, splits, write, apart)
    done = commit_rows(table.log, change, table.snapshot, table.settings)
    discard_staged(table.log, splits)
    return {"version": done.version}


def _bitmap(text: str) -> BitMap:
    return BitMap.deserialize(base64.b64decode(text))
