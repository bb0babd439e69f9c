"""A table as a streaming source: its appends, version by version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.config import stream as keys
from indextables.errors import error
from indextables.log.actions import AddFile, RemoveFile
from indextables.log.entries import from_adds
from indextables.log.history import parse_timestamp
from indextables.read.changes import DELETE, changes_between, changes_of, first_version, whole_table
from indextables.read.same_columns import SameColumns
from indextables.read.scan import plan_scan
from indextables.spark import changes
from indextables.spark.filtering import scan_request
from indextables.spark.read_task import shipped_scan
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from indextables.log.replay import Commit
    from indextables.read.table import OpenTable
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request

# an offset is the last version of a table that was read; `whole` reads all rows before the first
_BEFORE = -1


def start(request: Request) -> dict[str, Any]:
    """Where a new stream begins."""
    table = open_table(request)
    first = table.settings.get(keys.STARTING_VERSION)
    timestamp = table.settings.get(keys.STARTING_TIMESTAMP)
    if first is None and timestamp is None:
        return _offset(table, _BEFORE, whole=True)
    at = None if timestamp is None else parse_timestamp(timestamp)
    return _offset(table, first_version(table.log, first, at) - 1)


def latest(request: Request) -> dict[str, Any]:
    """How far the next micro-batch reaches."""
    table = open_table(request)
    newest = table.snapshot.version
    last, begin = request.body.get("last"), request.body.get("start")
    if last is not None:
        newest = min(newest, last["version"])
    if begin is not None:
        _check_table(table, begin)
    if begin is not None and not begin["whole"]:
        newest = _within_limits(table, begin["version"], newest)
    return _offset(table, newest)


def _offset(table: OpenTable, version: int, *, whole: bool = False) -> dict[str, Any]:
    return {"offset": {"version": version, "whole": whole, "table": table.snapshot.metadata.id}}


def _check_table(table: OpenTable, offset: Mapping[str, Any]) -> None:
    """Raise if another table is at the path now: its versions are not those of the offset."""
    if offset.get("table") not in (None, table.snapshot.metadata.id):
        raise error("STREAM_OTHER_TABLE", path=table.store.url)


def plan(request: Request) -> Answer:
    """The tasks of one micro-batch."""
    table = open_table(request)
    begin, end = request.body["start"], request.body["end"]
    _check_table(table, end)
    same = SameColumns(table)
    same.check_version(end["version"])
    if changes.is_change_feed(request):
        rows = (
            whole_table(table.log.snapshot(end["version"]), table.log)
            if begin["whole"]
            else changes_of(table, begin["version"] + 1, end["version"])
        )
        return {}, changes.plan_tasks(request, table, list(rows))
    if begin["whole"]:
        files = table.log.snapshot(end["version"]).files()
    else:
        commits = list(_commits(table, begin["version"], end["version"]))
        for commit in commits:
            same.check_commit(commit)
        files = from_adds(add for commit in commits for add in _appended(table, commit))
    found = plan_scan(table, scan_request(request, table), files)
    return {}, shipped_scan(found, request)[0]


def _commits(table: OpenTable, after: int, last: int) -> Iterator[Commit]:
    for version in range(after + 1, last + 1):
        commit = table.log.reader.commit(version)
        if commit is None:
            raise error("STREAM_VERSION_GONE", version=version, path=table.store.url)
        yield commit


def _within_limits(table: OpenTable, after: int, last: int) -> int:
    """The last version that fits into a micro-batch; at least one does."""
    files = size = 0
    reached = after
    most_files = table.settings.get(keys.MAX_FILES_PER_TRIGGER)
    most_bytes = table.settings.get(keys.MAX_BYTES_PER_TRIGGER)
    for commit in _commits(table, after, last):
        adds = [a for a in commit.actions if isinstance(a, AddFile) and a.data_change]
        files += len(adds)
        size += sum(add.size for add in adds)
        over = files > most_files or (most_bytes is not None and size > most_bytes)
        if over and reached > after:
            return reached
        reached = commit.version
    return reached


def _appended(table: OpenTable, commit: Commit) -> list[AddFile]:
    """The new splits of a version; a version that removes rows requires an option."""
    adds = [a for a in commit.actions if isinstance(a, AddFile) and a.data_change]
    removes = [a for a in commit.actions if isinstance(a, RemoveFile) and a.data_change]
    settings = table.settings
    if not removes:
        return adds
    if settings.get(keys.SKIP_CHANGE_COMMITS):
        return []
    if settings.get(keys.IGNORE_CHANGES):
        return adds
    if settings.get(keys.IGNORE_DELETES) and (not adds or _only_deletes(table, commit.version)):
        return []
    raise error("STREAM_CHANGED", version=commit.version, path=table.store.url)


def _only_deletes(table: OpenTable, version: int) -> bool:
    """Whether a version adds splits only with larger deletion vectors, and inserts no rows."""
    return all(rows.kind == DELETE for rows in changes_between(table.log, version, version))
