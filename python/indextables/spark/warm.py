"""Tables that the planner keeps open between calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.config import read as read_keys
from indextables.errors import TableNotFoundError
from indextables.log import Log, Snapshot
from indextables.log.history import parse_timestamp
from indextables.log.open_logs import log_at
from indextables.read.table import OpenTable, open_for_reading

if TYPE_CHECKING:
    from indextables.spark.request import Request


def log_of(request: Request) -> Log:
    """The log of the table of a call, opened once."""
    return log_at(request.path, request.settings)


def open_table(request: Request) -> OpenTable:
    """The table of a call, at the requested version; an error if there is none."""
    log = log_of(request)
    snapshot = _snapshot(request, log)
    settings = request.settings_for(snapshot.metadata.configuration)
    past = settings.is_set(read_keys.VERSION_AS_OF) or settings.is_set(read_keys.TIMESTAMP_AS_OF)
    mark = request.body.get("source_mark") or ""
    return open_for_reading(log, snapshot, settings, past=past, mark=mark)


def state_of(table: OpenTable) -> dict[str, Any]:
    """What the other calls of a query need to read the same version."""
    mark = {} if table.companion is None else {"source_mark": table.companion.mark}
    return {"version": table.snapshot.version, **mark}


def find_table(request: Request) -> OpenTable | None:
    """The table of a call, or None if there is none."""
    try:
        return open_table(request)
    except TableNotFoundError:
        return None


def _snapshot(request: Request, log: Log) -> Snapshot:
    pinned = request.body.get("read_version")
    if pinned is not None and pinned >= 0:
        return log.snapshot(pinned)
    version = request.settings.get(read_keys.VERSION_AS_OF)
    timestamp = request.settings.get(read_keys.TIMESTAMP_AS_OF)
    return log.snapshot(version, None if timestamp is None else parse_timestamp(timestamp))
