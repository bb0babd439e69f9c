"""The driver's side of a write: decide, hand out the task, commit or clean up."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from indextables.commands.after_write import maintain_after_write
from indextables.config import write as keys
from indextables.errors import StorageError, error
from indextables.log.actions import Txn
from indextables.model.types import Struct
from indextables.plan.layout import plan_layout
from indextables.read.table import OpenTable
from indextables.save.commit import Save, commit_save, plan_save
from indextables.save.condition import Condition
from indextables.save.spec import spec_of_write
from indextables.save.splits import WriteSpec, WrittenSplit
from indextables.spark import rows
from indextables.spark.filtering import predicates_of
from indextables.spark.request import Request
from indextables.spark.tables import properties_of
from indextables.spark.warm import find_table, log_of
from indextables.spark.write_task import pickled_writer
from indextables.sql.local import LocalContext

if TYPE_CHECKING:
    from indextables.spark.planner import Answer

_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


def prepare(request: Request) -> dict[str, Any]:
    """What `df.write...save()` does, before Spark plans it."""
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
    }


def begin(request: Request) -> Answer:
    """How rows shall arrive, and the function that writes them."""
    table = find_table(request)
    spec = _spec(request, table)
    _condition(request, table)  # one that cannot be answered is refused before rows are written
    command = request.body.get("command")
    # a deleted row has no columns to arrange it by
    layout = plan_layout(
        spec.schema, () if command == "DELETE" else spec.partition_columns, spec.settings,
        whole_rows=command is None,
    )  # fmt: skip
    return asdict(layout), [pickled_writer(spec, rows=command is not None)]


def commit(request: Request) -> dict[str, Any]:
    """Make what the tasks wrote part of the table."""
    if "command" in request.body:
        return rows.commit(request, _written(request), spec_of(request))
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
    )
    log = log_of(request)
    done = commit_save(log, save, None if table is None else table.snapshot)
    if done.skipped:
        # a batch that was committed before wrote its rows again for nothing
        return {"version": done.version, **abort(request)}
    settings = request.settings_for(done.snapshot.metadata.configuration)
    written = OpenTable(log, done.snapshot, settings)
    context = LocalContext({**request.session, **request.options}, qualified=True)
    maintain_after_write(written, context)
    return {"version": done.version}


def replace_table(request: Request) -> dict[str, Any]:
    """Put an empty table in the place of what is there."""
    return commit(Request({**request.body, "overwrite": "all", "messages": []}))


def abort(request: Request) -> dict[str, Any]:
    """Remove what the tasks of a failed write left behind, unless it was committed after all."""
    splits = _written(request)
    written = {split.path for split in splits}
    table = find_table(request)
    if table is not None:
        written -= set(table.snapshot.files().column("path").to_pylist())
    written |= {split.hashes for split in splits if split.hashes is not None}
    if written:
        try:
            log_of(request).store.delete(sorted(written))
        except StorageError:
            return {"removed": 0}  # PURGE finds them; the failure that led here matters more
    return {"removed": len(written)}


def plain_body(request: Request, columns: dict[str, Any], *, overwrite: bool) -> dict[str, Any]:
    """The document of a write through Spark's plain Python data source."""
    mode = "overwrite" if overwrite else "append"
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
    settings = request.settings_for({} if snapshot is None else snapshot.metadata.configuration)
    overwrite = request.body.get("overwrite", "none")
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
        for split in report["splits"]
    ]


def _condition(request: Request, table: OpenTable | None) -> Condition | None:
    """What an overwrite by condition replaces."""
    if request.body.get("overwrite") != "where" or table is None:
        return None
    return Condition.of(table, predicates_of(request), request.time_zone)


def _txn(request: Request) -> Txn | None:
    """The number of this write within its query or application, if it has one."""
    epoch = request.body.get("epoch")
    if epoch is not None:
        return Txn(request.body["query_id"], epoch)
    app, version = request.settings.get(keys.TXN_APP_ID), request.settings.get(keys.TXN_VERSION)
    return Txn(app, version) if app is not None and version is not None else None


def _is_replayed(request: Request, table: OpenTable) -> bool:
    """Whether this write is in the table already."""
    txn = _txn(request)
    return txn is not None and table.snapshot.txns.get(txn.app_id, -1) >= txn.version
