"""One run of BUILD COMPANION: the definition of the companion, the version to index, the sync."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indextables.commands.companion_sync import (
    DEFAULT_TARGET_BYTES,
    Synced,
    SyncRequest,
    plan,
    sync,
)
from indextables.commands.table_roots import root_properties
from indextables.errors import ConflictError, TableExistsError, TableNotFoundError, error
from indextables.log.protocol import COMPANION, is_companion, is_foreign
from indextables.plan.companion import (
    HYBRID,
    Companion,
    check_columns,
    fits,
    follow_names,
    plan_companion_fields,
    same_index,
    says_alike,
)
from indextables.plan.fields import remember_fields
from indextables.plan.sync import FileGroup, plan_groups
from indextables.read.companion import check_same_source, chosen_files, source_spec
from indextables.read.table import OpenTable
from indextables.runtime.steps import Steps
from indextables.sources.open import SourceName, open_source

if TYPE_CHECKING:
    from indextables.log import Log, Snapshot
    from indextables.read.table import Row
    from indextables.runtime.context import Context
    from indextables.sources.table import SourceSnapshot, SourceTable

_TRIES = 5
_CLAUSES = {
    "source_table_path": "the source",
    "source_format": "FOR",
    "iceberg_catalog": "CATALOG",
    "iceberg_catalog_type": "TYPE",
    "iceberg_warehouse": "WAREHOUSE",
    "schema_source": "SCHEMA SOURCE",
    "fast_field_mode": "FASTFIELDS MODE",
    "indexing_modes": "INDEXING MODES",
    "include_columns": "INCLUDE COLUMNS",
    "exclude_columns": "EXCLUDE COLUMNS",
    "hashed_fastfields_include": "HASHED FASTFIELDS INCLUDE",
    "hashed_fastfields_exclude": "HASHED FASTFIELDS EXCLUDE",
    "where_clause": "WHERE",
}


@dataclass(frozen=True)
class BuildRequest:
    """The clauses of the command; empty members of `given` were not given."""

    destination: str
    given: Companion
    target_bytes: int | None = None
    heap_bytes: int | None = None
    since: int | None = None
    invalidate_all: bool = False
    roots: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False


def build(request: BuildRequest, context: Context) -> Steps[Row]:
    """Bring a companion up to the newest version of its source."""
    started = time.monotonic()
    log = context.log(request.destination)
    for attempt in range(_TRIES):
        try:
            row = yield from _run(request, context, log)
        except ConflictError:
            # another sync or a clean-up committed first: plan again
            if attempt == _TRIES - 1:
                raise
        else:
            row["duration_ms"] = int((time.monotonic() - started) * 1000)
            return row
    raise AssertionError("unreachable")


def _run(request: BuildRequest, context: Context, log: Log) -> Steps[Row]:
    found = _existing(log)
    known = None if found is None else Companion.of(found.metadata.configuration)
    wanted = _defined(request, known, log.store.url)
    settings = context.settings({} if found is None else found.metadata.configuration)
    table = _source(wanted, settings)
    source = chosen_files(wanted, table.snapshot())
    if not request.invalidate_all:
        check_same_source(wanted, source, log.store.url)
    _check_since(request, known, source, log.store.url)
    wanted = check_columns(follow_names(wanted, source), source)
    wanted = replace(
        wanted,
        source_id=source.id,
        source_version=source.version,
        columns=source.columns,
        parquet_storage_root=source.location,
    )
    planned = plan_companion_fields(wanted, source.schema, source.partition_columns, settings)
    if found is None and request.dry_run:
        size = request.target_bytes or DEFAULT_TARGET_BYTES
        groups = plan_groups(source, range(source.files.num_rows), size)
        return _dry_run(request, wanted, source, groups)
    snapshot = found or _created(log, wanted, source, planned, request)
    opened = OpenTable(log, snapshot, context.settings(snapshot.metadata.configuration))
    same = known is None or (fits(known, snapshot.metadata, source) and same_index(known, wanted))
    todo = SyncRequest(
        wanted,
        source,
        source_spec(wanted, snapshot, settings),
        planned,
        request.target_bytes,
        request.heap_bytes,
        fits=same,
    )
    if request.dry_run:
        return _dry_run(request, wanted, source, plan(opened, todo).groups)
    done = yield from sync(opened, todo)
    return _row(log.store.url, wanted, source, done)


def _existing(log: Log) -> Snapshot | None:
    """The companion at the destination; any other table there is rejected."""
    try:
        found = log.snapshot()
    except TableNotFoundError:
        return None
    if not is_companion(found.metadata):
        raise error("COMPANION_REQUIRED", path=found.path)
    if is_foreign(found.protocol, found.metadata):
        raise foreign(found)
    return found


def foreign(found: Snapshot) -> Exception:
    """The error for a companion of another implementation."""
    properties = found.metadata.configuration
    return error(
        "COMPANION_FOREIGN",
        path=found.path,
        format=properties.get("indextables.companion.sourceFormat", "DELTA").upper(),
        source=properties.get("indextables.companion.sourceTablePath", ""),
    )


def _defined(request: BuildRequest, known: Companion | None, path: str) -> Companion:
    """The definition of the companion: the existing one, changed by the clauses."""
    given = request.given
    if known is None:
        return replace(given, fast_field_mode=given.fast_field_mode or HYBRID)
    changes: dict[str, Any] = {}
    for name, clause in _CLAUSES.items():
        value, held = getattr(given, name), getattr(known, name)
        if not value or says_alike(value, held):
            continue
        if not request.invalidate_all:
            raise error(
                "COMPANION_CHANGED", path=path, what=clause, existing=held or "none", given=value
            )
        changes[name] = value
    if request.invalidate_all:
        for one, other in (("include", "exclude"),):
            if f"{one}_columns" in changes:
                changes[f"{other}_columns"] = ()
            elif f"{other}_columns" in changes:
                changes[f"{one}_columns"] = ()
    return replace(known, **changes)


def _source(wanted: Companion, settings: Any) -> SourceTable:
    name = SourceName(
        wanted.source_format,
        wanted.source_table_path,
        wanted.iceberg_catalog,
        wanted.iceberg_catalog_type,
        wanted.iceberg_warehouse,
        wanted.schema_source,
    )
    return open_source(name, settings)


def _check_since(
    request: BuildRequest, known: Companion | None, source: SourceSnapshot, path: str
) -> None:
    """Reject a start after what is indexed, which would leave out rows; ignore an earlier one."""
    if request.since is None:
        return
    held = None if known is None else known.source_version
    late = source.format == "delta" and held is not None and request.since > int(held)
    if held is None or late:
        raise error(
            "COMPANION_PARTIAL", version=request.since, path=path, indexed=held or "nothing"
        )


def _created(
    log: Log,
    wanted: Companion,
    source: SourceSnapshot,
    planned: Sequence[dict[str, Any]],
    request: BuildRequest,
) -> Snapshot:
    configuration = {
        **replace(wanted, source_version=None).to_configuration(),
        **remember_fields(planned),
        **root_properties(request.roots, log.clock.now_ms()),
    }
    features = frozenset({COMPANION})
    try:
        made = log.create(source.schema, source.partition_columns, configuration, features)
    except TableExistsError:
        found = log.snapshot()  # another BUILD was first
        if not is_companion(found.metadata):
            raise
        return found
    return made.snapshot


def _dry_run(
    request: BuildRequest, wanted: Companion, source: SourceSnapshot, groups: Sequence[FileGroup]
) -> Row:
    files = sum(len(group.files) for group in groups)
    message = f"Would create {len(groups)} companion splits from {files} parquet files"
    row = _row(request.destination, wanted, source, None)
    return {**row, "status": "dry_run", "message": message}


def _row(path: str, wanted: Companion, source: SourceSnapshot, done: Synced | None) -> Row:
    found = done or Synced()
    message = "No changes to sync"
    if done is not None:
        message = f"Synced {found.files} parquet files into {found.splits} companion splits"
    return {
        "table_path": path,
        "source_path": wanted.source_table_path,
        "status": "no_action" if done is None else "success",
        "source_version": None if source.format == "parquet" else int(source.version),
        "splits_created": found.splits,
        "splits_invalidated": found.removed,
        "parquet_files_indexed": found.files,
        "parquet_bytes_downloaded": found.bytes_read,
        "split_bytes_uploaded": found.bytes_written,
        "duration_ms": 0,
        "message": message,
    }
