"""The driver's side of a write: plan, create the tasks, commit or clean up."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from indextables.commands.after_write import maintain_after_write, plan_maintenance
from indextables.config import write as keys
from indextables.errors import error
from indextables.log.actions import Txn
from indextables.log.transaction import Attempt
from indextables.model.types import Struct
from indextables.plan.constraints import checks_of, require_no_checks
from indextables.plan.layout import plan_layout
from indextables.plan.schemas import check_duplicates
from indextables.read.table import OpenTable
from indextables.save.commit import Save, commit_save, plan_save
from indextables.save.condition import Condition
from indextables.save.spec import spec_of_write
from indextables.save.splits import WriteSpec, WrittenSplit, discard_splits
from indextables.spark import rows
from indextables.spark.commands import SparkDoor, start_command
from indextables.spark.filtering import predicates_of
from indextables.spark.request import Request
from indextables.spark.tables import properties_of
from indextables.spark.warm import find_table, log_of
from indextables.spark.write_task import pickled_writer, raise_reported
from indextables.sql.local import LocalContext

if TYPE_CHECKING:
    from indextables.spark.planner import Answer

_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


def prepare(request: Request) -> dict[str, Any]:
    """Decide what `df.write...save()` does, before Spark plans it."""
    table = find_table(request)
    if table is not None and _is_replayed(request, table):
        return {"action": "none", "schema": table.snapshot.schema.to_json(), "partition_by": []}
    plan = plan_save(
        request.body["mode"],
        request.schema("data_schema"),
        request.body.get("partition_by"),
        None if table is None else table.snapshot,
        request.settings,
        path=request.path,
        dynamic=request.session.get(_OVERWRITE_MODE, "").lower() == "dynamic",
    )
    return {
        "action": plan.action,
        "schema": plan.schema.to_json(),
        "partition_by": list(plan.partition_columns),
        "missing": list(plan.missing),
        "where": plan.where,
        "checks": {} if table is None else checks_of(table.snapshot.metadata.configuration),
    }


def begin(request: Request) -> Answer:
    """The distribution and order of rows, and the function that writes them."""
    table = find_table(request)
    spec = _spec(request, table)
    _condition(request, table)  # an unsupported condition is rejected before rows are written
    command = request.body.get("command")
    # a deleted row has no columns to sort by
    layout = plan_layout(
        spec.schema, () if command == "DELETE" else spec.partition_columns, spec.settings,
        whole_rows=command is None,
    )  # fmt: skip
    attempt = {"id": str(uuid.uuid4()), "after": -1 if table is None else table.snapshot.version}
    answer = {**asdict(layout), "attempt": attempt}
    return answer, [pickled_writer(spec, rows=command is not None)]


def commit(request: Request) -> dict[str, Any] | Answer:
    """Commit what the tasks wrote; maintenance may follow as a command."""
    raise_reported(request.body["messages"])
    if "command" in request.body:
        return rows.commit(request, _written(request), spec_of(request), _attempt(request))
    reply, written = _commit(request)
    planned = None if written is None else plan_maintenance(written, SparkDoor(request))
    if planned is None:
        return reply
    needed, parts = start_command(planned.steps, request.app)
    return {**reply, "background": planned.background, **needed}, parts


def commit_without_hooks(request: Request) -> None:
    """The same without hooks: maintenance runs in this process."""
    _, written = _commit(request)
    if written is not None:
        context = LocalContext({**request.session, **request.options}, qualified=True)
        maintain_after_write(written, context)


def _commit(request: Request) -> tuple[dict[str, Any], OpenTable | None]:
    """The reply, and the table as it is now unless nothing was committed."""
    table = find_table(request)
    spec = _spec(request, table)
    save = Save(
        overwrite=request.body["overwrite"],
        schema=spec.schema,
        partition_columns=spec.partition_columns,
        fields=spec.fields,
        splits=_written(request),
        settings=spec.settings,
        configuration=properties_of(request) if "provider" in request.options else {},
        condition=_condition(request, table),
        txn=_txn(request),
        keyed=spec if spec.key is not None else None,
        attempt=_attempt(request),
        # Spark's mode of a save by path; one that creates must not follow another writer's table
        only_new=request.body.get("mode") in ("errorifexists", "ignore"),
    )
    log = log_of(request)
    done = commit_save(log, save, None if table is None else table.snapshot)
    if done.skipped:
        return {"version": done.version}, None
    settings = request.settings_for(done.snapshot.metadata.configuration)
    return {"version": done.version}, OpenTable(log, done.snapshot, settings)


def replace_table(request: Request) -> dict[str, Any]:
    """Replace what is there by an empty table."""
    return _commit(Request({**request.body, "overwrite": "table", "messages": []}))[0]


def prepare_location(request: Request) -> dict[str, Any]:
    """Replace or reject an existing table at the location of a new name."""
    if request.find_path() is None or find_table(request) is None:
        return {}
    if not request.body["replaces"]:
        raise error("TABLE_EXISTS", path=request.path)
    return replace_table(request)


def abort(request: Request) -> dict[str, Any]:
    """Remove what the tasks of a failed write left behind, unless a commit was attempted.

    Spark commits when every task has reported. From then on a version may reference the splits,
    even if its outcome is unknown: the commit itself removes what is certainly not needed.
    """
    if all(request.body["messages"]):
        return {"removed": 0}
    splits = _written(request)
    discard_splits(log_of(request).store, splits)
    return {"removed": len(splits)}


def lost(request: Request) -> dict[str, Any]:
    """Report that the outcome of a call is unknown, because its process has ended."""
    raise error(
        "COMMIT_UNKNOWN",
        operation=request.body.get("text") or request.body["operation"],
        path=request.find_path() or "the table",
        detail="the planner process ended before it answered",
    )


def plain_body(request: Request, columns: dict[str, Any], *, overwrite: bool) -> dict[str, Any]:
    """The document of a write through Spark's plain Python data source."""
    mode = "overwrite" if overwrite else "append"
    table = find_table(request)
    if table is not None:
        require_no_checks(table.snapshot.metadata.configuration, request.path)
    plan = prepare(Request({**request.body, "mode": mode, "data_schema": columns}))
    return {
        "overwrite": "all" if overwrite else "none",
        "table_schema": plan["schema"],
        "partition_by": plan["partition_by"],
    }


def spec_of(request: Request) -> WriteSpec:
    """What tasks of a write need."""
    return _spec(request, find_table(request))


def _spec(request: Request, table: OpenTable | None) -> WriteSpec:
    schema, partitions = _shape(request, table)
    snapshot = None if table is None else table.snapshot
    overwrite = request.body.get("overwrite", "none")
    # a table that is replaced loses its properties
    known = {} if snapshot is None or overwrite == "table" else snapshot.metadata.configuration
    if snapshot is None or overwrite == "table":
        check_duplicates(schema)
    settings = request.settings_for(known)
    log = log_of(request)
    return spec_of_write(log, snapshot, schema, partitions, settings, overwrite=overwrite)


def _shape(request: Request, table: OpenTable | None) -> tuple[Struct, tuple[str, ...]]:
    """Schema and partitioning the table has after this write."""
    if "table_schema" in request.body:
        return request.schema("table_schema"), tuple(request.body["partition_by"])
    if table is None:
        raise error("TABLE_NOT_FOUND", path=request.path)
    return table.snapshot.schema, table.snapshot.partition_columns


def _written(request: Request) -> list[WrittenSplit]:
    reports = [message for message in request.body["messages"] if message]
    return [
        WrittenSplit(**{**split, "task": task})
        for task, report in enumerate(reports)
        for split in report.get("splits", ())
    ]


def _condition(request: Request, table: OpenTable | None) -> Condition | None:
    """What an overwrite by condition replaces."""
    if request.body.get("overwrite") != "where" or table is None:
        return None
    return Condition.of(table, predicates_of(request), request.time_zone)


def _attempt(request: Request) -> Attempt | None:
    """The identity of the commit: a call whose planner was lost is repeated and marked as tried."""
    given = request.body.get("attempt")
    if given is None:
        return None
    epoch = request.body.get("epoch")
    name = given["id"] if epoch is None else str(uuid.uuid5(uuid.UUID(given["id"]), str(epoch)))
    return Attempt(name, given["after"] if request.body.get("tried") else None)


def _txn(request: Request) -> Txn | None:
    """The number of this write within its query or application, if it has one."""
    epoch = request.body.get("epoch")
    if epoch is not None:
        return Txn(request.body["query_id"], epoch)
    app, version = request.settings.get(keys.TXN_APP_ID), request.settings.get(keys.TXN_VERSION)
    return Txn(app, version) if app is not None and version is not None else None


def _is_replayed(request: Request, table: OpenTable) -> bool:
    """Whether this write is already in the table."""
    txn = _txn(request)
    return txn is not None and table.snapshot.txns.get(txn.app_id, -1) >= txn.version
