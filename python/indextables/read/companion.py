"""Open a companion for reading: the version of its source, and what the index holds of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.config import companion as keys
from indextables.engine.source import SourceSpec
from indextables.errors import IndexTablesError, error
from indextables.expr.binding import bind
from indextables.expr.evaluate import evaluate
from indextables.expr.where import parse_partition_where
from indextables.model import kernels as pc
from indextables.plan.companion import PREFIX, fits
from indextables.plan.companion import Companion as Definition
from indextables.plan.coverage import Coverage, cover, nothing_covered
from indextables.plan.sync import partition_texts
from indextables.read.columns import same_splits
from indextables.read.companion_plan import definition_of, plan_as_indexed, plan_at
from indextables.read.spec import HIDDEN, PENDING
from indextables.read.table import Companion
from indextables.runtime.cache import Cache
from indextables.sources.credentials import source_settings
from indextables.sources.open import SourceName, open_source
from indextables.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyroaring import BitMap

    from indextables.config.settings import Settings
    from indextables.log import Log, Snapshot
    from indextables.sources.table import SourceSnapshot, SourceTable

_ROOTS = PREFIX + "tableRoots."
_HIDDEN = pa.struct([pa.field("bitmap", pa.binary()), pa.field("cardinality", pa.int64())])
_PENDING = pa.struct([pa.field("stamp", pa.string())])
_UNITS = ("B", "KB", "MB", "GB", "TB")
_STEP = 1024

_sources: Cache[tuple[object, ...], SourceTable] = Cache(32)
_versions: Cache[tuple[object, ...], SourceSnapshot] = Cache(32)
# with the splits that a coverage numbers
_coverages: Cache[tuple[object, ...], tuple[pa.Table, Coverage]] = Cache(32)


def companion_of(
    log: Log, snapshot: Snapshot, settings: Settings, *, past: bool = False, mark: str = ""
) -> tuple[Snapshot, Companion]:
    """A companion as a query sees it, and the snapshot with the schema that the query sees.

    A `past` version of the index is read as it was indexed.
    """
    definition = definition_of(snapshot)
    wanted = settings.get(keys.SOURCE_VERSION_AS_OF)
    if wanted is None and (past or settings.get(keys.READ_VERSION) == "indexed"):
        if definition.source_version is None:
            raise error("COMPANION_INCOMPLETE", path=snapshot.path)
        return snapshot, as_indexed(snapshot, settings)
    source, seen = version_of(definition, snapshot, settings, wanted, mark)
    found, companion = _at_version(log, snapshot, definition, source, settings)
    return found, replace(companion, mark=seen)


def as_indexed(snapshot: Snapshot, settings: Settings) -> Companion:
    """A companion as its log has it, without checking the source."""
    planned = plan_as_indexed(snapshot, settings)
    definition = planned.definition
    return Companion(
        source=source_spec(definition, snapshot, settings),
        fields=planned.fields,
        zoned=planned.zoned,
        summary=f"source version {definition.source_version}, as indexed",
    )


def _at_version(
    log: Log,
    snapshot: Snapshot,
    definition: Definition,
    source: SourceSnapshot,
    settings: Settings,
) -> tuple[Snapshot, Companion]:
    planned = plan_at(snapshot, source, settings)
    metadata = planned.metadata
    limit = settings.get(keys.MAX_PENDING_BYTES)
    found = Companion(
        source=source_spec(planned.definition, snapshot, settings),
        fields=planned.fields,
        zoned=planned.zoned,
        max_pending=limit,
        behind=partial(_behind, snapshot.path, definition, source, limit),
    )
    same = metadata.schema_string == snapshot.metadata.schema_string
    if source.version == definition.source_version and same:
        text = f"source version {source.version}, indexed {source.version}"
        return snapshot, replace(found, summary=text)
    covered = _covered(log, snapshot, definition, source)
    files = readable_files(snapshot.files(), source, covered)
    summary, metrics = _summary(definition, source, covered, snapshot.files())
    seen = replace(snapshot, metadata=metadata)
    return seen, replace(found, files=files, summary=summary, metrics=metrics)


def _covered(
    log: Log, snapshot: Snapshot, definition: Definition, source: SourceSnapshot
) -> Coverage:
    files = snapshot.files()
    if not fits(definition, snapshot.metadata, source):
        return nothing_covered(files, source.files)
    # a folder of Parquet files has no id, but its version is a digest of its listing
    source_key = (source.id, source.version, source.files.num_rows)
    key = (log.store.url, snapshot.metadata.id, snapshot.version, *source_key)
    found = _coverages.get(key)
    if found is None or not same_splits(found[0], files):
        found = (files, cover(files, source.files, source.deleted))
        _coverages.put(key, found)
    return found[1]


def _behind(  # noqa: PLR0917 (bound in advance)
    path: str,
    definition: Definition,
    source: SourceSnapshot,
    limit: int,
    files: int,
    size: int,
) -> IndexTablesError:
    return error(
        "COMPANION_BEHIND",
        path=path,
        files=files,
        bytes=_shown(size),
        version=source.version,
        indexed=definition.source_version or "nothing",
        limit=f"{keys.MAX_PENDING_BYTES.full_key} is {_shown(limit)}",
    )


def _summary(
    definition: Definition, source: SourceSnapshot, covered: Coverage, splits: pa.Table
) -> tuple[str, dict[str, int]]:
    """The text of a plan about a version that is not the indexed one."""
    sizes = source.files["size"].take(pa.array(covered.pending, pa.int64()))
    pending = pc.sum(sizes).as_py() or 0
    known = pc.fill_null(pc.struct_field(splits["deletionVector"], "cardinality"), 0).to_pylist()
    newer = sum(
        len(hidden) != known[split]
        for split, hidden in zip(covered.splits, covered.hidden, strict=True)
    )
    text = (
        f"source version {source.version}, indexed {definition.source_version or 'nothing'}, "
        f"{len(covered.pending)} files pending ({_shown(pending)}), {covered.gone} gone, "
        f"{newer} vectors newer"
    )
    metrics = {
        "pendingFiles": len(covered.pending),
        "pendingBytes": pending,
        "goneFiles": covered.gone,
        "hiddenRows": sum(len(hidden) for hidden in covered.hidden),
    }
    return text, metrics


def _shown(size: float) -> str:
    unit = 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def readable_files(splits: pa.Table, source: SourceSnapshot, covered: Coverage) -> pa.Table:
    """The splits that hold rows of a version, and its pending files, in one table."""
    rows = splits["numRecords"].to_pylist()
    kept = [
        (split, hidden)
        for split, hidden in zip(covered.splits, covered.hidden, strict=True)
        if len(hidden) < (rows[split] or 0)
    ]
    held = splits.take(pa.array([split for split, _ in kept], pa.int64()))
    hidden = [_bitmap(rows) for _, rows in kept]
    held = held.append_column(HIDDEN, pa.array(hidden, _HIDDEN))
    held = held.append_column(PENDING, pa.nulls(held.num_rows, _PENDING))
    return pa.concat_tables([held, _pending(splits.schema, source, covered.pending)])


def _bitmap(rows: BitMap) -> dict[str, Any]:
    return {"bitmap": rows.serialize(), "cardinality": len(rows)}


def _pending(schema: pa.Schema, source: SourceSnapshot, rows: Sequence[int]) -> pa.Table:
    files = source.files.take(pa.array(rows, pa.int64())).to_pylist()
    texts = partition_texts(source, rows)
    deleted = [source.deleted.get(file["path"]) for file in files]
    given: dict[str, list[Any]] = {
        "path": [file["path"] for file in files],
        "partitionValues": [list(values.items()) for values in texts],
        "size": [file["size"] for file in files],
        "numRecords": [file["rows"] for file in files],
        **{name: [0] * len(files) for name in ("modificationTime", "addedAtVersion")},
        "addedAtTimestamp": [0] * len(files),
        **{name: [False] * len(files) for name in ("dataChange", "hasFooterOffsets")},
    }
    columns = [
        pa.array(given[field.name], field.type)
        if field.name in given
        else pa.nulls(len(files), field.type)
        for field in schema
    ]
    hidden = [
        None if d is None else {"bitmap": d.serialize(), "cardinality": len(d)} for d in deleted
    ]
    columns += [
        pa.array(hidden, _HIDDEN),
        pa.array([{"stamp": file["stamp"]} for file in files], _PENDING),
    ]
    wider = [*schema, pa.field(HIDDEN, _HIDDEN), pa.field(PENDING, _PENDING)]
    return pa.Table.from_arrays(columns, schema=pa.schema(wider))


# --- the source


def source_name(definition: Definition, snapshot: Snapshot, settings: Settings) -> SourceName:
    """The source of a companion: at its own location, or at the requested table root."""
    root = _root(snapshot, settings)
    return SourceName(
        format=definition.source_format,
        source=root or definition.source_table_path,
        catalog=None if root else definition.iceberg_catalog,
        catalog_type=definition.iceberg_catalog_type,
        warehouse=None if root else definition.iceberg_warehouse,
        schema_source=definition.schema_source,
    )


def _root(snapshot: Snapshot, settings: Settings) -> str | None:
    name = settings.get(keys.TABLE_ROOT)
    if name is None:
        return None
    found = snapshot.metadata.configuration.get(_ROOTS + name)
    if found is None:
        raise error("COMPANION_ROOT", name=name, path=snapshot.path)
    return found


def source_spec(definition: Definition, snapshot: Snapshot, settings: Settings) -> SourceSpec:
    """The source files of the rows."""
    location = _root(snapshot, settings) or definition.parquet_storage_root
    store = open_store(location or definition.source_table_path, source_settings(settings))
    return SourceSpec(place=store.native(), columns=definition.columns)


def held_source(name: SourceName, settings: Settings) -> SourceTable:
    """The source table, kept open between queries."""
    return _sources.get_or((name, _access(settings)), lambda: open_source(name, settings))


def _access(settings: Settings) -> tuple[object, ...]:
    """The settings that affect how a store is accessed."""
    own = tuple(
        sorted(
            (option.key, name, str(hash(text)))
            for option in (keys.SOURCE_CREDENTIALS, keys.SOURCE_AWS)
            for name, text in settings.per_field(option).items()
        )
    )
    values = tuple(sorted((k, str(hash(v))) for k, v in settings.values.items() if _is_access(k)))
    return own, values


def _is_access(key: str) -> bool:
    return key.startswith(("aws.", "azure.", "google.", "s3.", "iceberg.", "databricks.", "cloud."))


def version_of(
    definition: Definition,
    snapshot: Snapshot,
    settings: Settings,
    version: str | None = None,
    mark: str = "",
) -> tuple[SourceSnapshot, str]:
    """A version of the source and its mark: the given one, that of a mark, or the newest.

    It has only the files that the companion indexes.
    """
    name = source_name(definition, snapshot, settings)
    table = held_source(name, settings)
    if version is not None:
        key = _version_key(name, settings, version, table.stamp(version))
        found = _versions.get_or(key, lambda: table.snapshot(version))
    else:
        mark = mark or table.look()
        found = _versions.get_or((name, _access(settings), "mark", mark), lambda: table.at(mark))
    check_same_source(definition, found, snapshot.path)
    return chosen_files(definition, found), mark


def keep_version(name: SourceName, settings: Settings, source: SourceSnapshot) -> None:
    """Cache a version of a source for `sourceVersionAsOf`: the source itself may not keep it."""
    stamp = held_source(name, settings).stamp(source.version)
    _versions.put(_version_key(name, settings, source.version, stamp), source)


def _version_key(
    name: SourceName, settings: Settings, version: str, stamp: str
) -> tuple[object, ...]:
    return name, _access(settings), "version", version, stamp


def check_same_source(definition: Definition, source: SourceSnapshot, path: str) -> None:
    """Reject another table at the location of the source."""
    expected = definition.source_id
    if expected is not None and source.id is not None and expected != source.id:
        raise error(
            "COMPANION_REPLACED",
            source=source.location,
            found=source.id,
            path=path,
            expected=expected,
        )


def chosen_files(definition: Definition, source: SourceSnapshot) -> SourceSnapshot:
    """The files for whose partition the WHERE clause of a companion is true."""
    where = definition.where_clause
    if where is None:
        return source
    predicate = parse_partition_where(where, source.schema)
    values: dict[tuple[str, ...], pa.Array] = {
        (name,): array for name, array in source.partitions.items()
    }
    truth = evaluate(bind(predicate, source.schema), values, source.files.num_rows)
    if truth is None:
        problem = f"Invalid partition predicate: {where}"
        raise error("PARTITION_PREDICATE", problem=problem)
    rows = pc.indices_nonzero(pc.fill_null(truth, False)).cast(pa.int64())  # noqa: FBT003
    return source.taking(rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows)
