"""DESCRIBE STATE: the checkpoint readers start from, and whether it should be compacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import log as keys

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.log.state import StateManifest
    from indextables.read.table import OpenTable, Row


def run_describe_state(table: OpenTable) -> list[Row]:
    """One row with the true numbers of the newest checkpoint."""
    base = table.snapshot.base
    if base is not None:
        return [_of_state(table, base.state)]
    pointer = table.log.reader.pointer()
    listing = table.log.reader.listing()
    if not listing.checkpoints:
        return [_row(table, format="none", status="No checkpoint found")]
    version = listing.checkpoints[-1]
    known = pointer if pointer is not None and pointer.version == version else None
    return [
        _row(
            table,
            format="json-multipart" if known is not None and known.parts else "json",
            version=version,
            num_files=known.num_files if known is not None else 0,
            total_bytes=known.size_in_bytes if known is not None else 0,
            status=_status(table),
        )
    ]


def _of_state(table: OpenTable, state: StateManifest) -> Row:
    entries = sum(manifest.num_entries for manifest in state.manifests)
    superseded = sum(manifest.supersedes for manifest in state.manifests)
    gone = len(state.tombstones) + superseded
    ratio = gone / entries if entries else 0.0
    return _row(
        table,
        format="avro-state",
        version=state.version,
        num_files=state.num_files,
        num_manifests=len(state.manifests),
        num_tombstones=gone,
        tombstone_ratio=ratio,
        total_bytes=state.total_bytes,
        needs_compaction=needs_compaction(ratio, len(state.manifests), table.settings),
        status=_status(table),
    )


def needs_compaction(ratio: float, manifests: int, settings: Settings) -> bool:
    """Whether the next checkpoint of a state like this would be a compaction."""
    return ratio > settings.get(keys.TOMBSTONE_THRESHOLD) or manifests > settings.get(
        keys.MAX_MANIFESTS
    )


def _status(table: OpenTable) -> str:
    skipped = len(table.snapshot.skips(table.now_ms()))
    return f"OK, {skipped} splits left alone by merges" if skipped else "OK"


def _row(table: OpenTable, **cells: object) -> Row:
    empty: Row = {
        "table_path": table.path,
        "version": 0,
        "num_files": 0,
        "num_manifests": 0,
        "num_tombstones": 0,
        "tombstone_ratio": 0.0,
        "total_bytes": 0,
        "needs_compaction": False,
    }
    return empty | cells
