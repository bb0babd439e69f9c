"""Write an Arrow table in one commit, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.config import write as keys
from indextables.config.settings import resolve
from indextables.errors import TableNotFoundError, error
from indextables.model.arrow import schema_from_arrow, storable
from indextables.plan.constraints import require_no_checks
from indextables.plan.defaults import require_no_defaults
from indextables.read.table import OpenTable
from indextables.save.commit import Save, SavePlan, commit_save, plan_save
from indextables.save.condition import Condition
from indextables.save.spec import spec_of_write
from indextables.save.splits import sorted_by_partition, write_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from indextables.expr.predicate import Predicate
    from indextables.log import Committed, Log, Snapshot
    from indextables.model.types import Struct

# an upper bound of the size of a split, as a multiple of its rows in memory, with every index
_MOST_GROWTH = 16
_OVERWRITES = {"append": "none", "overwrite": "all", "dynamic": "dynamic", "replace": "where"}


def run_write_table(
    log: Log,
    data: pa.Table,
    mode: str,
    partition_by: Sequence[str],
    options: Mapping[str, str],
    *,
    parse: Callable[[str, Struct], Predicate],
) -> Committed | None:
    """One split per partition, one commit; None if there is nothing to do.

    `parse` reads the condition of `replaceWhere`.
    """
    data = data.cast(pa.schema([field.with_type(storable(field.type)) for field in data.schema]))
    table = _existing(log)
    known = {} if table is None else table.metadata.configuration
    settings = resolve(options, table=known)
    path = log.store.url
    require_no_checks(known, path)
    plan = plan_save(
        mode, schema_from_arrow(data.schema), partition_by or None, table, settings, path=path
    )
    if plan.action == "none":
        return None
    require_no_defaults(plan.schema, plan.missing)
    condition = None
    if plan.where is not None and table is not None:
        predicates = [parse(plan.where, table.schema)]
        condition = Condition.of(OpenTable(log, table, settings), predicates)
    columns, overwrite = plan.partition_columns, _OVERWRITES[plan.action]
    rows = _complete(data, plan)
    fits = rows.nbytes * _MOST_GROWTH < settings.get(keys.MAX_SPLIT_BYTES)
    spec = spec_of_write(log, table, plan.schema, columns, settings, overwrite=overwrite, fits=fits)
    splits = write_batches(spec, sorted_by_partition(spec, rows.to_batches()))
    keyed = spec if spec.key is not None else None
    save = Save(
        overwrite,
        plan.schema,
        columns,
        spec.fields,
        splits,
        settings,
        {},
        condition,
        keyed=keyed,
        only_new=mode in ("errorifexists", "ignore"),
    )
    return commit_save(log, save, table)


def _existing(log: Log) -> Snapshot | None:
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None


def _complete(data: pa.Table, plan: SavePlan) -> pa.Table:
    """The columns of the table in its types; columns missing in the data are null."""
    schema = plan.schema.to_arrow_schema()
    given = {name.lower(): name for name in data.column_names}
    arrays = [
        _cast(data.column(given[field.name.lower()]), field)
        if field.name.lower() in given
        else pa.nulls(data.num_rows, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)


def _cast(values: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return values.cast(field.type)
    except pa.ArrowInvalid as problem:
        raise error("DATA_BAD_VALUE", column=field.name, detail=str(problem)) from problem
