"""Save to a table: planned before rows are written, committed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.config import rows
from indextables.config import write as keys
from indextables.config.settings import resolve
from indextables.errors import TableExistsError, error
from indextables.log.actions import IndexFile, Metadata, RemoveFile, Txn
from indextables.log.conflicts import conflict
from indextables.log.protocol import PRIMARY_KEY
from indextables.log.snapshot import without_paths
from indextables.log.transaction import Operation, Transaction
from indextables.model.types import Struct, render_schema
from indextables.plan.dropped import check_not_dropped, without_dropped
from indextables.plan.fields import remember_fields, remember_layout
from indextables.plan.keys import check_same_key
from indextables.plan.partitions import map_column
from indextables.plan.schemas import check_duplicates, check_widened, fit_schema
from indextables.rows.change_rows import without_rows
from indextables.rows.commit_rows import note_updates
from indextables.rows.key_rows import KeyRows
from indextables.rows.upsert import upsert
from indextables.save.create import new_configuration
from indextables.save.splits import (
    WriteSpec,
    WrittenSplit,
    discard_splits,
    discard_staged,
    discarded_if_refused,
    features_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.log import Committed, Log, Snapshot
    from indextables.log.actions import Action
    from indextables.log.transaction import Attempt
    from indextables.save.condition import Condition


@dataclass(frozen=True)
class SavePlan:
    """`action` is none, append, overwrite, dynamic or replace; the rest is the table after it."""

    action: str
    schema: Struct
    partition_columns: tuple[str, ...]
    missing: tuple[str, ...] = ()
    where: str | None = None


def plan_save(
    mode: str,
    data: Struct,
    partition_by: Sequence[str] | None,
    table: Snapshot | None,
    settings: Settings,
    *,
    path: str,
    dynamic: bool = False,
) -> SavePlan:
    """Decide what `df.write.mode(mode).save()` does to a table that may not exist yet."""
    check_duplicates(data)
    _check_replace(mode, settings)
    if table is None:
        columns = _partition_columns(partition_by or (), data)
        return SavePlan("overwrite" if mode == "overwrite" else "append", nullable(data), columns)
    if mode == "errorifexists":
        raise error("TABLE_EXISTS", path=path)
    if mode == "ignore":
        return SavePlan("none", table.schema, table.partition_columns)
    if mode == "overwrite" and settings.get(keys.OVERWRITE_SCHEMA):
        return SavePlan("overwrite", nullable(data), _partition_columns(partition_by or (), data))
    if partition_by and [c.lower() for c in partition_by] != [
        c.lower() for c in table.partition_columns
    ]:
        raise error(
            "PARTITION_MISMATCH",
            given=", ".join(partition_by),
            existing=", ".join(table.partition_columns) or "none",
        )
    schema = fit_schema(data, table.schema, merge=settings.get(keys.MERGE_SCHEMA))
    check_not_dropped(schema.names, table.schema.names, table.metadata.configuration)
    key = resolve(table=table.metadata.configuration).get(rows.PRIMARY_KEY)
    check_widened(table.schema, schema, table.partition_columns, key)
    given = {name.lower() for name in data.names}
    missing = tuple(name for name in table.schema.names if name.lower() not in given)
    action, where = _action(mode, settings, dynamic=dynamic and bool(table.partition_columns))
    return SavePlan(action, schema, table.partition_columns, missing, where)


def _action(mode: str, settings: Settings, *, dynamic: bool) -> tuple[str, str | None]:
    if mode != "overwrite":
        return "append", None
    where = settings.get(keys.REPLACE_WHERE)
    if where is not None:
        return "replace", where
    chosen = settings.get(keys.PARTITION_OVERWRITE_MODE)
    is_dynamic = dynamic if chosen is None else chosen == "dynamic"
    return ("dynamic" if is_dynamic else "overwrite"), None


def _check_replace(mode: str, settings: Settings) -> None:
    """Reject a condition that would be ignored: more rows would be replaced, or none."""
    where = settings.get(keys.REPLACE_WHERE)
    if where is None:
        return
    if mode != "overwrite":
        raise error("REPLACE_WHERE_CLASH", other=f"mode {mode}")
    if settings.get(keys.OVERWRITE_SCHEMA):
        raise error("REPLACE_WHERE_CLASH", other="`overwriteSchema`")


def _partition_columns(given: Iterable[str], schema: Struct) -> tuple[str, ...]:
    if not schema.fields:
        raise error("SCHEMA_EMPTY")
    by_name = {field.name.lower(): field for field in schema.fields}
    columns: list[str] = []
    for name in given:
        field = by_name.get(name.lower())
        if field is None:
            available = ", ".join(schema.names)
            raise error("PARTITION_COLUMN_UNKNOWN", column=name, available=available)
        if field.name in columns:
            raise error("PARTITION_COLUMN_TWICE", column=field.name)
        columns.append(field.name)
    if columns and len(columns) == len(schema.fields):
        raise error("PARTITION_ALL_COLUMNS", columns=", ".join(columns))
    return tuple(columns)


def nullable(schema: Struct) -> Struct:
    """A schema whose columns are all nullable, as Spark's own formats store data."""
    return Struct(tuple(replace(field, nullable=True) for field in schema.fields))


@dataclass(frozen=True)
class Save:
    """A save whose rows are written but not committed.

    `overwrite` is none, all (rows), dynamic (the partitions of the rows), where (the rows of a
    condition), or table (everything, including the definition).
    """

    overwrite: str
    schema: Struct
    partition_columns: tuple[str, ...]
    fields: Sequence[Mapping[str, Any]]
    splits: Sequence[WrittenSplit]
    settings: Settings
    configuration: Mapping[str, str]
    condition: Condition | None = None
    txn: Txn | None = None
    # how the splits were written, for a table with a primary key
    keyed: WriteSpec | None = None
    # the id of the commit, for callers that may retry it
    attempt: Attempt | None = None
    # fail if another writer created the table meanwhile
    only_new: bool = False


def commit_save(log: Log, save: Save, table: Snapshot | None) -> Committed:
    """Commit a save: one version, or two if the table must be created first."""
    with discarded_if_refused(log.store, save.splits):
        done = _commit(log, save, table)
    if done.skipped:
        # this batch was committed before: drop the rows that were written again
        discard_splits(log.store, save.splits)
    elif save.keyed is not None:
        discard_staged(log.store, save.splits)
    return done


def _commit(log: Log, save: Save, table: Snapshot | None) -> Committed:
    features = _features(save)
    if table is None:
        table = _create(log, save, features)
    adds = tuple(split.to_add() for split in save.splits)
    rows = sum(split.num_records for split in save.splits)
    common: dict[str, Any] = {
        "txn": save.txn,
        "features": features,
        "metrics": {"rows": rows, "splits": len(adds), "bytes": sum(s.size for s in save.splits)},
        "user_metadata": save.settings.get(keys.USER_METADATA),
        **(save.attempt.named() if save.attempt is not None else {}),
    }
    if save.keyed is not None:
        return _commit_keyed(log, save, save.keyed, table, common)
    if save.condition is not None:
        save.condition.check_rows(log, table, save.splits)

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        forgotten = _forgotten(newest.hash_indexes) if save.overwrite == "table" else ()
        return (*_new_metadata(newest, save, table), *_gone(log, newest, save), *adds, *forgotten)

    # a commit that may be retried, or that skips batches, is looked for by its own id
    alone = save.attempt is not None or save.txn is not None or save.overwrite != "none"
    return log.commit(
        Transaction(_operation(save), table.version, rebuild=rebuild, shares=not alone, **common)
    )


def _create(log: Log, save: Save, features: frozenset[str]) -> Snapshot:
    """Create the table, or use the one that another writer of the same rows created meanwhile."""
    configuration = new_configuration(save.fields, save.settings, save.configuration)
    try:
        return log.create(save.schema, save.partition_columns, configuration, features).snapshot
    except TableExistsError:
        if save.only_new:
            raise
    table = log.snapshot()
    if save.overwrite == "table":
        return table
    check_same_key(save.settings, table.metadata.configuration)
    same = table.schema == save.schema and table.partition_columns == save.partition_columns
    alike = configuration.items() <= table.metadata.configuration.items()
    if save.overwrite != "all" and not (same and alike):
        detail = "it created the table, with other columns or settings"
        raise conflict(_operation(save), None, table.version, detail)
    return table


def _gone(log: Log, newest: Snapshot, save: Save) -> Sequence[Action]:
    """The splits that a save removes from the latest snapshot."""
    condition = save.condition
    if save.overwrite == "none":
        return ()
    if condition is None or condition.whole_splits:
        return _removes(newest, save)
    return without_rows(log, newest.files(), condition.rows(log, newest), save.settings)


def _features(save: Save) -> frozenset[str]:
    keyed = frozenset({PRIMARY_KEY} if save.keyed is not None else ())
    return features_of(save.settings) | keyed


def _operation(save: Save) -> Operation:
    if save.overwrite == "none":
        return Operation.APPEND if save.keyed is None else Operation.UPSERT
    return Operation.OVERWRITE if save.condition is None else Operation.REPLACE_WHERE


def _commit_keyed(
    log: Log, save: Save, write: WriteSpec, table: Snapshot, common: Mapping[str, Any]
) -> Committed:
    """Rows replace those with the same key; after an overwrite, those that remain."""
    assert write.key is not None
    new = KeyRows(log, write, save.splits, write.key)
    condition = save.condition
    if condition is not None:
        condition.check_rows(log, table, save.splits)
    noted: dict[str, Any] = {}

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        rows, removes = {}, []
        if condition is not None and not condition.whole_splits:
            rows = condition.rows(log, newest)
        elif save.overwrite != "none":
            removes = _removes(newest, save)
        files = without_paths(newest.files(), {remove.path for remove in removes})
        # if no rows remain, keys can be assigned to new buckets
        known = newest.hash_indexes if files.num_rows or not removes else ()
        made = upsert(new, files, known, rows)
        noted.update(note_updates(log, made.updated, save.settings))
        places = {action.place for action in made.actions if isinstance(action, IndexFile)}
        unknown = () if known else newest.hash_indexes
        forgotten = _forgotten(index for index in unknown if index.place not in places)
        return (*_new_metadata(newest, save, table), *removes, *made.actions, *forgotten)

    return log.commit(
        Transaction(_operation(save), table.version, rebuild=rebuild, notes=lambda: noted, **common)
    )


def _forgotten(indexes: Iterable[IndexFile]) -> tuple[IndexFile, ...]:
    return tuple(replace(index, file=None, size=None, row_count=None) for index in indexes)


def _new_metadata(newest: Snapshot, save: Save, planned: Snapshot) -> tuple[Metadata, ...]:
    """The metadata of the table, if the save changes it.

    Changes that others made since the save was planned stay, unless both change the columns.
    """
    if save.overwrite == "table":
        return (_new_definition(newest, save),)
    before = newest.metadata.configuration
    # rows of the old layout stay after anything but a full overwrite: then it is for this write
    layout = remember_layout(save.settings) if save.overwrite == "all" else {}
    kept = without_dropped(before) if save.overwrite == "all" else before
    shape = save.schema, save.partition_columns
    reshapes = (planned.schema, planned.partition_columns) != shape
    if not reshapes and layout.items() <= before.items():
        return ()
    if reshapes and save.overwrite != "all" and newest.schema != planned.schema:
        detail = "it changed the columns, and so does this write"
        raise conflict(_operation(save), None, newest.version, detail)
    schema, columns = shape if reshapes else (newest.schema, newest.partition_columns)
    return (
        replace(
            newest.metadata,
            schema_string=render_schema(schema),
            partition_columns=columns,
            configuration={**kept, **remember_fields(save.fields), **layout},
        ),
    )


def _new_definition(newest: Snapshot, save: Save) -> Metadata:
    return replace(
        newest.metadata,
        schema_string=render_schema(save.schema),
        partition_columns=save.partition_columns,
        configuration=new_configuration(save.fields, save.settings, save.configuration),
    )


def _removes(table: Snapshot, save: Save) -> list[RemoveFile]:
    """What an overwrite removes from the latest snapshot."""
    files = table.files()
    if save.overwrite == "dynamic":
        files = _same_partitions(files, save)
    elif save.condition is not None:
        files = files.filter(save.condition.covered(table, files))
    paths = files.column("path").to_pylist()
    sizes = files.column("size").to_pylist()
    maps = files.column("partitionValues").to_pylist()
    return [
        RemoveFile(path=path, partition_values=dict(values or ()), size=size)
        for path, size, values in zip(paths, sizes, maps, strict=True)
    ]


def _same_partitions(files: pa.Table, save: Save) -> pa.Table:
    names = save.partition_columns
    if not names:
        return files  # a table without partitions is one partition
    written = {split.partition for split in save.splits}
    columns = (map_column(files.column("partitionValues"), name).to_pylist() for name in names)
    hit = [
        tuple(sorted((n, v) for n, v in zip(names, row, strict=True) if v is not None)) in written
        for row in zip(*columns, strict=True)
    ]
    return files.filter(pa.array(hit, pa.bool_()))
