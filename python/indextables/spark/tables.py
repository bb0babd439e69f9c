"""Operations on whole tables for the hooks: open, create, alter, drop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.config import rows
from indextables.config.option import PREFIX
from indextables.errors import error
from indextables.log.open_logs import log_at
from indextables.plan.constraints import CHECKS_KEY, checks_of, constraint_properties
from indextables.plan.partitions import partition_arrays
from indextables.save.alter import alter_table, finish_alter_table, undo_alter_table
from indextables.save.create import Definition, adopt_table, create_table
from indextables.spark import changes
from indextables.spark.request import Request
from indextables.spark.shipping import to_stream
from indextables.spark.warm import find_table, log_of, open_table, state_of
from indextables.storage import find_location

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.spark.planner import Answer

_BARE = {CHECKS_KEY, *(option.key for option in rows.OPTIONS)}
_ABSENT = {"exists": False, "partition_by": []}


def load(request: Request) -> dict[str, Any]:
    """What Spark needs to know about a table before planning."""
    if request.find_path() is None:
        return _ABSENT  # CREATE TABLE without LOCATION: the catalog has not chosen a location yet
    table = find_table(request)
    if table is None:
        return _ABSENT
    snapshot = table.snapshot
    return {
        "exists": True,
        "schema": changes.schema_json(snapshot.schema)
        if changes.is_change_feed(request)
        else snapshot.schema.to_json(),
        "partition_by": list(snapshot.partition_columns),
        **state_of(table),
        "checks": checks_of(snapshot.metadata.configuration),
    }


def require(request: Request) -> dict[str, Any]:
    """Raise the common error for a missing table."""
    open_table(request)
    raise error("TABLE_NOT_FOUND", path=request.path)


def properties_of(request: Request) -> dict[str, str]:
    """Table properties to store: our keys, as a catalog passes them."""
    given: Mapping[str, str] = request.body.get("properties") or {}
    return {
        key: value
        for key, value in given.items()
        if key.lower().startswith(PREFIX) or key.lower() in _BARE
    }


def definition_of(request: Request) -> Definition:
    """The table that a statement describes, perhaps like another one."""
    request = _with_constraints(request)
    schema, columns = request.schema("table_schema"), tuple(request.body["partition_by"])
    like: Mapping[str, str] = {}
    if "like" in request.body:
        source = open_table(Request({**request.body, "properties": request.body["like"]}))
        like = source.snapshot.metadata.configuration
    return Definition(schema, columns, request.settings_for(like), properties_of(request), like)


def _with_constraints(request: Request) -> Request:
    """The request with properties for the constraints of a statement."""
    given: Mapping[str, str] = request.body.get("properties") or {}
    meant = constraint_properties(request.body.get("constraints") or ())
    return Request({**request.body, "properties": {**given, **meant}})


def create(request: Request) -> dict[str, Any]:
    """Create an empty table."""
    return {"version": create_table(log_of(request), definition_of(request)).version}


def adopt(request: Request) -> dict[str, Any]:
    """Create an empty table, or use the one at the location if it is the same."""
    return {"version": adopt_table(log_of(request), definition_of(request)).version}


def alter(request: Request) -> dict[str, Any]:
    """Change properties and columns: all of the changes or none."""
    table = open_table(request)
    moved = (c["value"] for c in request.body["changes"] if c.get("set") == "location")
    for location in moved:  # a name of nothing would look like an empty table
        log_at(find_location(location, request.settings), request.settings).snapshot()
    done = alter_table(table.log, table.snapshot, request.body["changes"])
    return {"version": done.version, "fills": list(done.fills), "then": list(done.then)}


def finish_alter(request: Request) -> dict[str, Any]:
    """Make the changes that follow an update of all rows; `again` is the version to retry after."""
    log = open_table(request).log
    done = finish_alter_table(log, request.body["changes"], request.body["after"])
    return {"again": log.snapshot().version if done is None else -1}


def undo_alter(request: Request) -> dict[str, Any]:
    """Undo changes that the catalog of the table rejected."""
    undo_alter_table(open_table(request).log, request.body["version"])
    return {}


def refuse(request: Request) -> dict[str, Any]:
    """Raise an error that the hooks found."""
    raise error(request.body["code"], **request.body["context"])


def partitions(request: Request) -> Answer:
    """The partitions, one row each, sorted by their values."""
    snapshot = open_table(request).snapshot
    names = list(snapshot.partition_columns)
    values = partition_arrays(snapshot.files(), snapshot.schema, snapshot.partition_columns)
    found = pa.table([values[(name,)] for name in names], names=names)
    distinct = found.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names])
    return {}, [to_stream(distinct)]


def drop(request: Request) -> dict[str, Any]:
    """Reject DROP of a table named by its path, which is not deleted."""
    raise error("UNSUPPORTED_CHANGE", change=f"DROP TABLE of the path `{request.path}`")
