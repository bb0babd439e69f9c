"""Writing an Arrow table in one go, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.config.settings import resolve
from indextables.errors import TableNotFoundError, error
from indextables.model.arrow import schema_from_arrow
from indextables.ops.save import Save, SavePlan, commit_save, plan_save
from indextables.ops.write import sorted_by_partition, write_batches
from indextables.ops.write_spec import spec_of_write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.log import Committed, Log, Snapshot

_OVERWRITES = {"append": "none", "overwrite": "all", "dynamic": "dynamic"}


def run_write_table(
    log: Log, data: pa.Table, mode: str, partition_by: Sequence[str], options: Mapping[str, str]
) -> Committed | None:
    """One split per partition, one commit; None when there was nothing to do."""
    table = _existing(log)
    known = {} if table is None else table.metadata.configuration
    settings = resolve(options, table=known)
    path = log.store.url
    plan = plan_save(
        mode, schema_from_arrow(data.schema), partition_by or None, table, settings, path=path
    )
    if plan.action == "none":
        return None
    if plan.action not in _OVERWRITES:
        raise error("SAVE_MODE", mode=f"{mode} where", allowed="append and overwrite")
    columns, overwrite = plan.partition_columns, _OVERWRITES[plan.action]
    spec = spec_of_write(log, table, plan.schema, columns, settings, overwrite=overwrite)
    rows = _complete(data, plan)
    splits = write_batches(spec, sorted_by_partition(spec, rows.to_batches()))
    keyed = spec if spec.key is not None else None
    save = Save(overwrite, plan.schema, columns, spec.fields, splits, settings, {}, keyed=keyed)
    return commit_save(log, save, table)


def _existing(log: Log) -> Snapshot | None:
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None


def _complete(data: pa.Table, plan: SavePlan) -> pa.Table:
    """The columns of the table in its types; those the data does not have are null."""
    schema = plan.schema.to_arrow_schema()
    given = {name.lower(): name for name in data.column_names}
    arrays = [
        data.column(given[field.name.lower()]).cast(field.type)
        if field.name.lower() in given
        else pa.nulls(data.num_rows, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)
