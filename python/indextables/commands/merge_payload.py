"""The task of a merge: its inputs, and how the table's splits are written."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from indextables.commands.merge_store import merge_store_options
from indextables.config import indexing
from indextables.config import maintenance as keys
from indextables.index.vectors import load_deletions
from indextables.log import entries
from indextables.log.operations import touched
from indextables.log.protocol import is_companion, is_foreign
from indextables.model.types import Struct, render_schema
from indextables.plan.fields import plan_fields
from indextables.plan.merge_companion import gone_documents
from indextables.read.companion import as_indexed
from indextables.save.statistics import stats_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.config.settings import Settings
    from indextables.log import AddFile, Snapshot
    from indextables.read.table import OpenTable


def merge_input(table: OpenTable, add: AddFile) -> dict[str, Any]:
    """A split as a task reads it, with its deleted rows: tasks do not read the log."""
    vector, start, end = add.deletion_vector, add.footer_start_offset, add.footer_end_offset
    deleted = None
    if vector is not None:
        gone = load_deletions(table.store, vector)
        if add.companion_runs is not None:
            gone = gone_documents(add.companion_runs, gone)
        deleted = base64.b64encode(gone.serialize()).decode()
    footer = [start, end] if start is not None and end is not None else None
    return {"path": add.path, "footer": footer, "deleted": deleted}


def merge_payload(
    table: OpenTable, read: Snapshot, paths: Sequence[str], output: str
) -> dict[str, Any]:
    """Build a task that merges splits."""
    by_path = {add.path: add for add in entries.to_adds(touched(read, list(paths)))}
    inputs = [merge_input(table, by_path[path]) for path in paths]
    return {**common_payload(table, read), "inputs": inputs, "output": output}


def common_payload(table: OpenTable, read: Snapshot) -> dict[str, Any]:
    """What all tasks of a table have in common: its store, and how its splits are written."""
    url, store_options = table.store.native()
    return {
        "url": url,
        "store_options": merge_store_options(store_options, table.settings),
        "schema": render_schema(_inside(read)),
        **_target(table, read),
    }


def _target(table: OpenTable, read: Snapshot) -> dict[str, Any]:
    """How splits that are indexed differently are written again, and where their rows are."""
    settings, metadata = table.settings, read.metadata
    options = _engine_options(settings)
    if is_companion(metadata) and not is_foreign(read.protocol, metadata):
        companion = as_indexed(read, settings)
        return {
            "source": companion.source.to_json(),
            "fields": companion.source.fields(companion.fields),
            "options": options | {"layout": "companion"},
        }
    fields = plan_fields(read.schema, settings, read.partition_columns, metadata.configuration)
    return {"source": None, "fields": fields, "options": options}


def _inside(read: Snapshot) -> Struct:
    """Return the columns that are stored in splits."""
    fields = read.schema.fields
    return Struct(tuple(f for f in fields if f.name not in read.partition_columns))


def _engine_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {
        "layout": settings.get(indexing.LAYOUT),
        "heap_bytes": settings.get(keys.MERGE_HEAP_BYTES),
        "stats_length": stats_length(settings),
    }
    temp = settings.get(keys.MERGE_TEMP_DIRECTORY)
    level = settings.get(keys.MERGE_COMPRESSION_LEVEL)
    options |= {"store_compression": f"zstd:{level}"} if level else {}
    return options | ({"temp_dir": temp} if temp else {})
