"""DESCRIBE STATE: the checkpoint that readers start from, and whether to compact it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import DESCRIBE, TARGET, Command, Rule, columns
from indextables.commands.target import Target, locate
from indextables.errors import IndexTablesError, TableNotFoundError
from indextables.log import compaction, names
from indextables.log.actions import Protocol
from indextables.log.compaction import Limits
from indextables.read.table import open_table

if TYPE_CHECKING:
    from indextables.log.names import Listing
    from indextables.log.state import StateManifest
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_AVRO = "avro-state"
_JSON = ("json", "json-multipart")
_OUTPUT = columns(
    "table_path string, format string, version bigint, num_files bigint, num_manifests int, "
    "num_tombstones int, tombstone_ratio double, total_bytes bigint, "
    "needs_compaction boolean, status string"
)


@dataclass(frozen=True)
class DescribeState(Command):
    """Show the latest checkpoint of the transaction log."""

    target: Target


def run_describe_state(table: OpenTable) -> list[Row]:
    """Return one row with the actual numbers of the latest checkpoint."""
    pointer = table.log.reader.pointer()
    listing = table.log.reader.listing()
    state = _newest_state(table, listing)
    older = state is None or (pointer is not None and pointer.version >= state.version)
    if state is not None and not (older and pointer is not None and pointer.format in _JSON):
        return [_of_state(table, state)]
    if not listing.checkpoints:
        return [_row(table, format="none", status="No checkpoint found")]
    # not from `_last_checkpoint`: it may be of another version, or count other bytes
    snapshot = table.log.snapshot(listing.checkpoints[-1])
    parts = map(names.part_version, table.store.children(names.FOLDER))
    return [
        _row(
            table,
            format="json-multipart" if snapshot.version in parts else "json",
            version=snapshot.version,
            num_files=snapshot.num_files,
            total_bytes=snapshot.size_bytes,
            status=_status(table),
        )
    ]


def _newest_state(table: OpenTable, listing: Listing) -> StateManifest | None:
    """Return the state that readers start from, or that of version 0, which they do not need."""
    # a cached snapshot does not notice checkpoints that another process wrote
    base = table.log.reader.load().base
    if base is not None:
        return base.state
    if 0 not in listing.states or not table.log.reader.states.is_complete(0):
        return None
    state = table.log.reader.states.read(0)
    # other writers number a later state 0
    return state if any(isinstance(action, Protocol) for action in state.actions) else None


def _of_state(table: OpenTable, state: StateManifest) -> Row:
    limits = Limits.of(table.log.settings_of(table.snapshot))
    return _row(
        table,
        format=_AVRO,
        version=state.version,
        num_files=state.num_files,
        num_manifests=len(state.manifests),
        num_tombstones=compaction.dead_entries(state),
        tombstone_ratio=compaction.tombstone_ratio(state),
        total_bytes=state.total_bytes,
        needs_compaction=compaction.crowded(state, 0, False, limits) is not None,  # noqa: FBT003
        status=_status(table),
    )


def _status(table: OpenTable) -> str:
    skips = table.snapshot.skips(table.now_ms())
    live = skips and skips.keys() & {*table.snapshot.files()["path"].to_pylist()}
    return f"OK, {len(live)} splits skipped by merges" if live else "OK"


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


def run(command: DescribeState, context: Context) -> Steps[list[Row]]:
    """Describe the state; report one that cannot be read as a result."""
    path = yield from locate(command.target)
    try:
        return run_describe_state(open_table(path, context))
    except TableNotFoundError:
        raise
    except IndexTablesError as problem:
        status = f"ERROR: {problem.message}"
        return [{"table_path": str(command.target), "status": status, "format": "error"}]


RULES = (Rule(DescribeState, f"{DESCRIBE} STATE", (TARGET,), _OUTPUT, run),)
