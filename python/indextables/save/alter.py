"""Change the properties and columns of a table: all changes of a statement or none."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indextables.config import rows
from indextables.config.settings import resolve
from indextables.errors import error
from indextables.log.protocol import raised
from indextables.log.transaction import Operation, Transaction
from indextables.model.types import render_schema
from indextables.plan.constraints import checks_of
from indextables.plan.dropped import check_not_dropped, index_alike, remember_dropped
from indextables.plan.fields import plan_fields
from indextables.plan.keys import check_same_key
from indextables.plan.schemas import check_widened, describe
from indextables.plan.table_changes import change_configuration, change_schema, steps
from indextables.save.create import features_of_table, user_properties

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.log import Log, Snapshot
    from indextables.log.actions import Action, Metadata
    from indextables.model.types import Struct


@dataclass(frozen=True)
class Altered:
    """The version with the changes, and what completes them.

    `fills` are the assignments of an UPDATE of all rows; `then` are changes to make after it.
    """

    version: int
    fills: Sequence[str] = ()
    then: Sequence[Mapping[str, Any]] = ()


class _MovedError(Exception):
    """Another writer changed the table between an update and the changes that rely on it."""


def alter_table(log: Log, read: Snapshot, changes: Sequence[Mapping[str, Any]]) -> Altered:
    """Commit changes of properties and columns, as `plan/table_changes.py` describes them."""
    if not read.num_files:
        return Altered(_commit(log, read, changes))
    first, fills, last = steps(read.schema, changes)
    return Altered(_commit(log, read, first), fills, last)


def finish_alter_table(log: Log, changes: Sequence[Mapping[str, Any]], after: int) -> int | None:
    """Commit changes that rely on an update of all rows, the only commit since a version.

    None if others committed too: then the update must be repeated.
    """
    read = log.snapshot()
    try:
        return _commit(log, read, changes, after=after)
    except _MovedError:
        return None


def _commit(
    log: Log, read: Snapshot, changes: Sequence[Mapping[str, Any]], after: int | None = None
) -> int:
    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        if after is not None and newest.version > after + 1:
            raise _MovedError
        metadata = _changed(newest, changes)
        features = features_of_table(
            metadata.schema, newest.partition_columns, metadata.configuration
        )
        protocol = raised(newest.protocol, features) if features else newest.protocol
        return (metadata,) if protocol == newest.protocol else (metadata, protocol)

    change = Transaction(Operation.CHANGE_METADATA, read.version, rebuild=rebuild)
    return log.commit(change).version


def _changed(newest: Snapshot, changes: Sequence[Mapping[str, Any]]) -> Metadata:
    before = newest.metadata.configuration
    configuration = change_configuration(before, changes)
    schema = change_schema(newest.schema, changes)
    for added in (change["add"] for change in changes if "like" in change.get("add", {})):
        configuration = index_alike(configuration, added["like"], added["name"])
    for change in changes:
        if "rename" in change:  # of an empty table; otherwise the column is copied
            configuration = index_alike(configuration, change["column"][0], change["rename"])
    gone = [name for name in newest.schema.names if schema.get(name) is None]
    _check_droppable(newest, gone)
    if gone and not set(schema.names) - set(newest.partition_columns):
        only = f"DROP COLUMN `{gone[0]}`, the only one that is not a partition column"
        raise error("UNSUPPORTED_CHANGE", change=only)
    if newest.num_files:
        key = resolve(table=before).get(rows.PRIMARY_KEY)
        check_widened(newest.schema, schema, newest.partition_columns, key)
        check_not_dropped(schema.names, newest.schema.names, before)
        check_same_key(resolve(table=configuration), before)
    configuration = remember_dropped(configuration, gone, schema.names)
    # properties that contradict the index would fail the next write
    plan_fields(schema, resolve(table=configuration), newest.partition_columns, configuration)
    return replace(
        newest.metadata, schema_string=render_schema(schema), configuration=configuration
    )


def _check_droppable(table: Snapshot, gone: Sequence[str]) -> None:
    """Refuse to drop columns of the partitioning or the key."""
    for name in gone:
        if name in table.partition_columns:
            raise error("UNSUPPORTED_CHANGE", change=f"DROP or RENAME partition column `{name}`")
        for check, sql in checks_of(table.metadata.configuration).items():
            if re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE):
                raise error("COLUMN_CHECKED", column=name, constraint=check)


def undo_alter_table(log: Log, version: int) -> None:
    """Restore the metadata from before a version, unless it has changed since."""
    altered, before = log.snapshot(version).metadata, log.snapshot(version - 1).metadata

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        old = _types(before.schema)
        widened = any(old.get(name, kind) != kind for name, kind in _types(altered.schema).items())
        # rows written since may need the wider type
        if _said(newest.metadata) != _said(altered) or (widened and newest.version > version):
            return ()
        # rows written since may have values in the columns that this would drop
        written = _added(altered.schema, before.schema) if newest.version > version else []
        configuration = {**newest.metadata.configuration, **before.configuration}
        for key in user_properties(configuration).keys() - before.configuration.keys():
            del configuration[key]
        return (replace(before, configuration=remember_dropped(configuration, written)),)

    log.commit(Transaction(Operation.CHANGE_METADATA, version, rebuild=rebuild))


def _types(schema: Struct) -> dict[str, str]:
    return {field.name: describe(field.type) for field in schema.fields}


def _said(metadata: Metadata) -> tuple[str, dict[str, str]]:
    """The configuration that users set, without the description of the splits."""
    return metadata.schema_string, user_properties(metadata.configuration)


def _added(schema: Struct, before: Struct) -> list[str]:
    return [name for name in schema.names if before.get(name) is None]
