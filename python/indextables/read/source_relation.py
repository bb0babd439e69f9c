"""A source table in a query: the companion that answers for it, and its version.

Spark resolves a Delta, Iceberg or Parquet table to a version, or to a list of files. A companion
answers for it if it has exactly these rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.config import companion as keys
from indextables.config import storage as storage_keys
from indextables.errors import error
from indextables.expr.binding import UTC_NAMES
from indextables.log.protocol import is_companion, is_foreign
from indextables.model.types import Struct
from indextables.read.companion import held_source, keep_version, source_name, version_of
from indextables.read.companion_plan import definition_of, zoned_columns
from indextables.runtime.cache import Cache
from indextables.sources.table import relative_path
from indextables.storage.address import names_store, parse_address

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.log import Snapshot
    from indextables.plan.companion import Companion as Definition
    from indextables.sources.table import SourceSnapshot

# path, size and modification time in milliseconds
File = tuple[str, int, int]

_pinned: Cache[tuple[object, ...], SourceSnapshot] = Cache(32)


@dataclass(frozen=True)
class SourceRelation:
    """A table as Spark resolved it: its format, its folder, and a version or a list of files.

    Without either, only the table is known yet. `time_zone` is the session's.
    """

    format: str
    location: str
    version: str | None = None
    files: Sequence[File] | None = field(default=None, repr=False)
    time_zone: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether a companion answers for a relation: at which version, or why it does not."""

    version: str | None = None
    reason: str = ""


def companion_locations(properties: Mapping[str, str], settings: Settings) -> tuple[str, ...]:
    """The possible locations of a table's companion: by its properties, or else by the settings."""
    named = index_location(properties, settings)
    return settings.get(keys.LOCATIONS) if named is None else (named,)


def index_location(properties: Mapping[str, str], settings: Settings) -> str | None:
    """The location in the properties of a source table, if there is one."""
    given = {key.lower(): value for key, value in properties.items()}
    place = given.get(keys.SOURCE_INDEX)
    if place:
        return place
    region = settings.get(keys.REGION) or settings.get(storage_keys.AWS_REGION)
    root = given.get(f"{keys.SOURCE_INDEX_ROOT}.{region}".lower()) or given.get(
        keys.SOURCE_INDEX_ROOT
    )
    below = given.get(keys.SOURCE_INDEX_PATH, "").strip("/")
    if not root:
        return None
    if not below:
        raise error(
            "COMPANION_INDEX_ROOT", root=keys.SOURCE_INDEX_ROOT, missing=keys.SOURCE_INDEX_PATH
        )
    return f"{root.rstrip('/')}/{below}"


def judge(relation: SourceRelation, snapshot: Snapshot, settings: Settings) -> Verdict:
    """Whether a companion answers for a relation."""
    reason = _unfit(relation, snapshot, settings)
    if reason is not None:
        return Verdict(reason=reason)
    if relation.files is None:
        return Verdict(version=relation.version)
    seen = _pin(relation.files, snapshot, settings)
    if seen is None:
        changed = f"files of `{relation.location}` changed since the query was resolved"
        return Verdict(reason=changed)
    zoned = _read_in_zone(relation, seen.schema, seen.partition_columns)
    return Verdict(version=seen.version) if zoned is None else Verdict(reason=zoned)


def _unfit(relation: SourceRelation, snapshot: Snapshot, settings: Settings) -> str | None:
    """Why a companion cannot answer for a relation, whatever its files."""
    metadata = snapshot.metadata
    if not is_companion(metadata) or is_foreign(snapshot.protocol, metadata):
        return f"`{snapshot.path}` is not a companion"
    definition = definition_of(snapshot)
    if not _is_source(relation, definition, snapshot, settings):
        return f"`{snapshot.path}` is the companion of `{definition.source_table_path}`"
    if definition.where_clause is not None:
        rows = f"holds only rows WHERE {definition.where_clause}"
        return f"the companion `{snapshot.path}` {rows}"
    return _read_in_zone(relation, metadata.schema, metadata.partition_columns)


def _read_in_zone(
    relation: SourceRelation, schema: Struct, partition_columns: Sequence[str]
) -> str | None:
    """Why the session reads other partition values than the companion, which reads them as UTC."""
    if relation.time_zone in UTC_NAMES:
        return None
    for name in zoned_columns(relation.format, schema, partition_columns):
        return f"timestamps of partition column `{name}` depend on the session's time zone"
    return None


def _is_source(
    relation: SourceRelation, definition: Definition, snapshot: Snapshot, settings: Settings
) -> bool:
    if relation.format != definition.source_format:
        return False
    name = source_name(definition, snapshot, settings)
    places = [name.source]
    if name.source == definition.source_table_path and definition.parquet_storage_root:
        places.append(definition.parquet_storage_root)
    wanted = _place(relation.location)
    return any(_place(place) == wanted for place in places if _is_location(place))


def _is_location(text: str) -> bool:
    return text.startswith(("/", "~")) or names_store(text)


def _place(location: str) -> str:
    return parse_address(location).native.rstrip("/")


def _pin(files: Sequence[File], snapshot: Snapshot, settings: Settings) -> SourceSnapshot | None:
    """The version of a folder with exactly these files; None if some are missing.

    Files that were added after the query was resolved are left out.
    """
    definition = definition_of(snapshot)
    name = source_name(definition, snapshot, settings)
    listed = hashlib.sha256(repr(sorted(files)).encode()).hexdigest()[:16]
    now, _ = version_of(definition, snapshot, settings)
    # the listing is not a key: another file may have the same name, size and modification time
    key = (name, snapshot.path, listed, now.version)
    seen = _pinned.get(key)
    if seen is None:
        seen = now
        rows = _rows_of(files, seen, held_source(name, settings).location)
        if rows is None:
            return None
        if len(rows) < seen.files.num_rows:
            some = seen.taking(pa.array(rows, pa.int64()))
            seen = replace(some, version=f"{seen.version}-{listed}")
        _pinned.put(key, seen)
    keep_version(name, settings, seen)
    return seen


def _rows_of(files: Sequence[File], source: SourceSnapshot, location: str) -> list[int] | None:
    """Which files of a listing a query sees; None if one of them has changed or is gone."""
    known = {
        (path, size, stamp.partition(":")[0]): row
        for row, (path, size, stamp) in enumerate(
            zip(
                source.files["path"].to_pylist(),
                source.files["size"].to_pylist(),
                source.files["stamp"].to_pylist(),
                strict=True,
            )
        )
    }
    found = [
        known.get((relative_path(path, location), size, str(modified)))
        for path, size, modified in files
        if size
    ]
    rows = [row for row in found if row is not None]
    return sorted(rows) if len(rows) == len(found) else None
