"""Schema evolution: add columns and widen types to those of the data written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.config import rows
from indextables.log.transaction import Operation, Transaction
from indextables.model.types import render_schema
from indextables.plan.dropped import check_not_dropped
from indextables.plan.fields import plan_fields, remember_fields
from indextables.plan.schemas import check_widened, fit_schema

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.log import Log, Snapshot
    from indextables.log.actions import Action
    from indextables.model.types import Struct


def evolved_schema(table: Snapshot, data: Struct, settings: Settings) -> Struct:
    """The schema of the table after writing data with this one; an error if it does not fit."""
    schema = fit_schema(data, table.schema, merge=True)
    check_not_dropped(schema.names, table.schema.names, table.metadata.configuration)
    key = settings.get(rows.PRIMARY_KEY)
    check_widened(table.schema, schema, table.partition_columns, key)
    return schema


def evolve_table(log: Log, table: Snapshot, data: Struct, settings: Settings) -> Snapshot:
    """Evolve the table to the schema of the data, in one commit if anything changes."""
    if evolved_schema(table, data, settings) == table.schema:
        return table

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        schema = evolved_schema(newest, data, settings)
        before = newest.metadata.configuration
        fields = plan_fields(schema, settings, newest.partition_columns, before)
        configuration = {**before, **remember_fields(fields)}
        return (
            replace(
                newest.metadata, schema_string=render_schema(schema), configuration=configuration
            ),
        )

    change = Transaction(Operation.CHANGE_METADATA, table.version, rebuild=rebuild)
    return log.commit(change).snapshot
