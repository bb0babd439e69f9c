"""The fields of a companion, derived once from its configuration and its source's columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from indextables.model.types import Atomic, render_schema
from indextables.plan.companion import Companion as Definition
from indextables.plan.companion import follow_names, plan_companion_fields
from indextables.plan.fields import remember_fields
from indextables.runtime.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.log import Snapshot
    from indextables.log.actions import Metadata
    from indextables.model.types import Struct
    from indextables.sources.table import SourceSnapshot


@dataclass(frozen=True)
class CompanionPlan:
    """A companion at a version of its source.

    `definition` has the names and addresses of that version, `fields` say how its columns are
    indexed, `metadata` is the index's with the schema of that version.
    """

    definition: Definition
    fields: tuple[Mapping[str, Any], ...]
    metadata: Metadata

    @cached_property
    def zoned(self) -> tuple[str, ...]:
        """The partition columns that Spark may read differently, see `zoned_columns`."""
        metadata = self.metadata
        return zoned_columns(
            self.definition.source_format, metadata.schema, metadata.partition_columns
        )


def zoned_columns(
    source_format: str, schema: Struct, partition_columns: Sequence[str]
) -> tuple[str, ...]:
    """Partition columns that are read as UTC here, and by Spark in the session's time zone.

    Strings in paths and in Delta's log may be local times; Iceberg has typed values.
    """
    if source_format == "iceberg":
        return ()
    kinds = {field.name: field.type for field in schema.fields}
    return tuple(name for name in partition_columns if kinds.get(name) == Atomic("timestamp"))


_definitions: Cache[tuple[object, ...], Definition] = Cache(64)
_plans: Cache[tuple[object, ...], CompanionPlan] = Cache(64)


def definition_of(snapshot: Snapshot) -> Definition:
    """The definition of a companion, cached per version."""
    configuration = snapshot.metadata.configuration
    return _definitions.get_or(_key(snapshot), lambda: Definition.of(configuration))


def plan_as_indexed(snapshot: Snapshot, settings: Settings) -> CompanionPlan:
    """The plan for the columns that the index had when it was last complete."""
    key = (*_key(snapshot), settings)

    def made() -> CompanionPlan:
        definition, metadata = definition_of(snapshot), snapshot.metadata
        names, schema = snapshot.partition_columns, snapshot.schema
        planned = plan_companion_fields(definition, schema, names, settings, bounded=False)
        return CompanionPlan(definition, tuple(planned), metadata)

    return _plans.get_or(key, made)


def plan_at(snapshot: Snapshot, source: SourceSnapshot, settings: Settings) -> CompanionPlan:
    """The plan for the columns of a version of the source."""
    # not its version: columns of an Iceberg table change without one
    shape = (source.schema, source.columns, source.partition_columns)
    key = (*_key(snapshot), *shape, settings)
    return _plans.get_or(key, lambda: _plan_at(snapshot, source, settings))


def _plan_at(snapshot: Snapshot, source: SourceSnapshot, settings: Settings) -> CompanionPlan:
    followed = follow_names(definition_of(snapshot), source)
    now = replace(followed, columns=source.columns)
    names, schema = source.partition_columns, source.schema
    planned = plan_companion_fields(now, schema, names, settings, bounded=False)
    metadata = replace(
        snapshot.metadata,
        schema_string=render_schema(schema),
        partition_columns=names,
        configuration={**snapshot.metadata.configuration, **remember_fields(planned)},
    )
    return CompanionPlan(now, tuple(planned), metadata)


def _key(snapshot: Snapshot) -> tuple[str, str, int]:
    return snapshot.path, snapshot.metadata.id, snapshot.version
