"""DELETE, UPDATE and MERGE INTO for the hooks."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from indextables.read.request import ScanRequest
from indextables.read.spec import ROW_ID
from indextables.rows.change_rows import OPERATIONS, joined
from indextables.rows.commit_rows import RowChange, commit_rows
from indextables.rows.delete import delete_rows
from indextables.spark.filtering import predicates_of
from indextables.spark.plans import planned
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from indextables.log.transaction import Attempt
    from indextables.read.scan import Scan
    from indextables.read.table import OpenTable
    from indextables.save.splits import WriteSpec, WrittenSplit
    from indextables.spark.request import Request


def can_delete(request: Request) -> dict[str, Any]:
    """Whether the index finds the rows alone and reads so little that no job is needed."""
    found = _scan(request, open_table(request))
    return {"ok": found.plan.filters.exact and found.is_light}


def delete(request: Request) -> dict[str, Any]:
    """Delete the rows of predicates that the index answers exactly."""
    done = delete_rows(_scan(request, open_table(request)))
    version = {} if done.version is None else {"version": done.version}
    return {"deleted": done.rows, **version}


def _scan(request: Request, table: OpenTable) -> Scan:
    """The scan of the rows to delete; they are found in this process, however many there are."""
    predicates = predicates_of(request)
    wanted = ScanRequest(ROW_ID, predicates, here=True, time_zone=request.time_zone)
    return planned(table, wanted)


def commit(
    request: Request, splits: list[WrittenSplit], write: WriteSpec, attempt: Attempt | None
) -> dict[str, Any]:
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
    # an update changes every row, so none has to be marked
    apart = updated if command == "MERGE" else {}
    change = RowChange(OPERATIONS[command], deleted, splits, write, apart, attempt)
    done = commit_rows(table.log, change, table.snapshot, table.settings)
    return {"version": done.version}


def _bitmap(text: str) -> BitMap:
    return BitMap.deserialize(base64.b64decode(text))
