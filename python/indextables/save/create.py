"""Create a table: version 0 with its schema, partitioning, key and properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indextables.config import rows
from indextables.config.settings import resolve
from indextables.errors import TableExistsError, TableNotFoundError, error
from indextables.log.protocol import CHECK_CONSTRAINTS, PRIMARY_KEY
from indextables.plan.columns import MAPPING_PREFIX
from indextables.plan.constraints import checks_of
from indextables.plan.fields import check_some_field, plan_fields, remember_fields, remember_layout
from indextables.plan.keys import check_same_key, plan_key, remember_key
from indextables.plan.schemas import check_duplicates, differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.log import Log, Snapshot
    from indextables.model.types import Struct


@dataclass(frozen=True)
class Definition:
    """The definition of a table in a CREATE statement."""

    schema: Struct
    partition_columns: tuple[str, ...]
    settings: Settings
    # the table properties to store
    properties: Mapping[str, str] = field(default_factory=dict)
    # the configuration of the table that LIKE names
    like: Mapping[str, str] = field(default_factory=dict)


def new_configuration(
    fields: Sequence[Mapping[str, Any]], settings: Settings, properties: Mapping[str, str]
) -> dict[str, str]:
    """The configuration of a new table: what the user set, and how its columns are indexed."""
    return {
        **properties,
        **remember_fields(fields),
        **remember_key(settings),
        **remember_layout(settings),
    }


def user_properties(configuration: Mapping[str, str]) -> dict[str, str]:
    """The part of a table's configuration that users set, without what describes its splits."""
    return {k: v for k, v in configuration.items() if not k.startswith(MAPPING_PREFIX)}


def create_table(log: Log, definition: Definition) -> Snapshot:
    """Create an empty table; TABLE_EXISTS if there is one."""
    schema, columns = definition.schema, definition.partition_columns
    check_duplicates(schema)
    fields = plan_fields(schema, definition.settings, columns, definition.like)
    check_some_field(fields, columns)
    properties = {**user_properties(definition.like), **definition.properties}
    configuration = new_configuration(fields, definition.settings, properties)
    features = features_of_table(schema, columns, configuration)
    return log.create(schema, columns, configuration, features).snapshot


def features_of_table(
    schema: Struct, columns: Sequence[str], configuration: Mapping[str, str]
) -> frozenset[str]:
    """The features that writers need for a table with this configuration."""
    keyed = plan_key(schema, columns, resolve(table=configuration)) is not None
    wanted = {PRIMARY_KEY: keyed, CHECK_CONSTRAINTS: bool(checks_of(configuration))}
    return frozenset(feature for feature, needed in wanted.items() if needed)


def adopt_table(log: Log, definition: Definition) -> Snapshot:
    """Create an empty table, or use the existing one if it is the same."""
    try:
        found = log.snapshot()
    except TableNotFoundError:
        try:
            return create_table(log, definition)
        except TableExistsError:
            found = log.snapshot()  # another writer created it meanwhile
    _check_same(found, definition)
    return found


def _check_same(found: Snapshot, definition: Definition) -> None:
    """A statement without columns takes the table as it is; whatever it declares must match."""
    if definition.schema.fields:
        problems = differences(definition.schema, found.schema)
        given, existing = definition.partition_columns, found.partition_columns
        if [c.lower() for c in given] != [c.lower() for c in existing]:
            problems.append(
                f"it is partitioned by {_list(existing)}, the statement says {_list(given)}"
            )
        if problems:
            raise error("TABLE_DIFFERS", path=found.path, problems="; ".join(problems))
    configuration = found.metadata.configuration
    if definition.settings.is_set(rows.PRIMARY_KEY):
        check_same_key(definition.settings, configuration)
    plan_fields(found.schema, definition.settings, found.partition_columns, configuration)


def _list(columns: Sequence[str]) -> str:
    return ", ".join(f"`{column}`" for column in columns) or "no column"
