"""Operations on whole tables: open, create, change, drop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.config import rows
from indextables.config.option import PREFIX
from indextables.config.settings import resolve
from indextables.errors import error
from indextables.expr.predicate import read_type
from indextables.log.protocol import PRIMARY_KEY, raised
from indextables.log.transaction import Operation, Transaction
from indextables.model.types import Struct, render_schema
from indextables.plan.fields import plan_fields, remember_fields, remember_layout
from indextables.plan.keys import check_same_key, plan_key, remember_key
from indextables.plan.partitions import partition_arrays
from indextables.save.commit import add_column
from indextables.spark import changes
from indextables.spark.shipping import to_stream
from indextables.spark.warm import find_table, log_of, open_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.log import Snapshot
    from indextables.log.actions import Action
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request

_BARE = {option.key for option in rows.OPTIONS}
_ABSENT = {"exists": False, "partition_by": []}


def load(request: Request) -> dict[str, Any]:
    """What Spark must know of a table before it plans."""
    if request.find_path() is None and "provider" in request.options:
        return _ABSENT  # CREATE TABLE without LOCATION: the catalog has not chosen a place yet
    table = find_table(request)
    if table is None:
        return _ABSENT
    snapshot = table.snapshot
    return {
        "exists": True,
        "schema": changes.schema_json(snapshot.schema)
        if changes.is_asked(request)
        else snapshot.schema.to_json(),
        "partition_by": list(snapshot.partition_columns),
        "version": snapshot.version,
    }


def require(request: Request) -> dict[str, Any]:
    """Say that there is no table, the way every door says it."""
    open_table(request)
    raise error("TABLE_NOT_FOUND", path=request.path)


def properties_of(request: Request) -> dict[str, str]:
    """Table properties worth remembering: our keys, as a catalog hands them over."""
    given: Mapping[str, str] = request.body.get("properties") or {}
    return {
        key: value
        for key, value in given.items()
        if key.lower().startswith(PREFIX) or key.lower() in _BARE
    }


def create(request: Request) -> dict[str, Any]:
    """Make an empty table."""
    if find_table(request) is not None:
        raise error("TABLE_EXISTS", path=request.path)
    schema, columns = request.schema("table_schema"), tuple(request.body["partition_by"])
    fields = plan_fields(schema, request.settings, columns)
    key = plan_key(schema, columns, request.settings)
    configuration = {
        **properties_of(request),
        **remember_fields(fields),
        **remember_key(request.settings),
        **remember_layout(request.settings),
    }
    features = frozenset({PRIMARY_KEY} if key is not None else ())
    done = log_of(request).create(schema, columns, configuration, features)
    return {"version": done.version}


def alter(request: Request) -> dict[str, Any]:
    """Set or remove properties, add columns."""
    table = open_table(request)
    changes: list[dict[str, Any]] = request.body["changes"]

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        configuration = dict(newest.metadata.configuration)
        schema: Struct = newest.schema
        for change in changes:
            if "set" in change:
                configuration[change["set"]] = change["value"]
            elif "remove" in change:
                configuration.pop(change["remove"], None)
            else:
                schema = add_column(schema, change["add_column"], read_type(change["type"]))
        metadata = replace(
            newest.metadata, schema_string=render_schema(schema), configuration=configuration
        )
        settings = resolve(table=configuration)
        if newest.num_files:
            check_same_key(settings, newest.metadata.configuration)
        if plan_key(schema, newest.partition_columns, settings) is None:
            return (metadata,)
        return (metadata, raised(newest.protocol, {PRIMARY_KEY}))

    done = table.log.commit(
        Transaction(Operation.CHANGE_METADATA, table.snapshot.version, rebuild=rebuild)
    )
    return {"version": done.version}


def partitions(request: Request) -> Answer:
    """The partitions there are, one row each, in the order of their values."""
    snapshot = open_table(request).snapshot
    names = list(snapshot.partition_columns)
    values = partition_arrays(snapshot.files(), snapshot.schema, snapshot.partition_columns)
    found = pa.table([values[(name,)] for name in names], names=names)
    distinct = found.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names])
    return {}, [to_stream(distinct)]


def drop(request: Request) -> dict[str, Any]:
    """A table named by its path belongs to whoever named the path: it is not deleted."""
    raise error("UNSUPPORTED_CHANGE", change=f"DROP TABLE of the path `{request.path}`")
