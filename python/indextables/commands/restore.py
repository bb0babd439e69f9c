"""RESTORE: commit the contents of an older version as a new version."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.commands.grammar import (
    TARGET,
    Clause,
    Command,
    NumberKind,
    Rule,
    TextKind,
    columns,
    require,
)
from indextables.commands.target import Target, open_target
from indextables.config import log as keys
from indextables.errors import IndexTablesError, error
from indextables.log import entries, operations
from indextables.log.history import parse_timestamp
from indextables.log.reading import looking_again
from indextables.runtime.side_by_side import side_by_side

if TYPE_CHECKING:
    from indextables.log import AddFile, Snapshot
    from indextables.log.actions import Action
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps

_log = logging.getLogger("indextables.restore")
_PARTS = (
    TARGET,
    Clause("TO VERSION AS OF", "version", NumberKind()),
    Clause("TO TIMESTAMP AS OF", "timestamp", TextKind()),
)
_OUTPUT = columns(
    "table_path string, status string, restored_version bigint, new_version bigint, "
    "num_restored_files bigint, num_removed_files bigint, restored_size_bytes bigint, "
    "removed_size_bytes bigint, table_num_files bigint, table_size_bytes bigint"
)


@dataclass(frozen=True)
class Restore(Command):
    """Restore an older version of a table, as a new commit.

    A timestamp without an offset is in UTC.
    """

    target: Target
    version: int | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        require(
            (self.version is None) != (self.timestamp is None),
            "RESTORE needs TO VERSION AS OF or TO TIMESTAMP AS OF",
        )


def run_restore(
    table: OpenTable, version: int | None = None, timestamp_ms: int | None = None
) -> list[Row]:
    """Restore the splits, schema and properties of a version."""
    if version is not None:
        wanted = table.log.snapshot(version)
    else:
        wanted = table.log.snapshot(timestamp_ms=timestamp_ms)
    back, _ = difference(wanted, table.snapshot)
    _check_files(table, wanted, back)
    transaction = operations.restore(table.snapshot, wanted)
    replaced = table.snapshot

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        nonlocal replaced
        # another writer may commit in between: count what was actually replaced
        replaced = newest
        assert transaction.rebuild is not None
        return transaction.rebuild(newest)

    table.log.check_maintainable()
    committed = table.log.commit(replace(transaction, rebuild=rebuild, on_companion=True))
    _check_version(table, wanted.version, committed.snapshot, replaced)
    back, gone = difference(wanted, replaced)
    after = committed.snapshot
    return [
        {
            "table_path": table.path,
            "status": "SUCCESS",
            "restored_version": wanted.version,
            "new_version": committed.version,
            "num_restored_files": len(back),
            "num_removed_files": len(gone),
            "restored_size_bytes": sum(add.size for add in back),
            "removed_size_bytes": sum(gone["size"].to_pylist()),
            "table_num_files": after.num_files,
            "table_size_bytes": after.size_bytes,
        }
    ]


def difference(wanted: Snapshot, newest: Snapshot) -> tuple[list[AddFile], pa.Table]:
    """Return the splits to add and to remove to get from one snapshot to another."""
    there, here = _keyed(wanted.files()), _keyed(newest.files())
    back = [index for key, index in there.items() if key not in here]
    gone = [index for key, index in here.items() if key not in there]
    found = wanted.files().take(pa.array(back, pa.int64()))
    return entries.to_adds(found), newest.files().take(pa.array(gone, pa.int64()))


def _keyed(files: pa.Table) -> dict[tuple[str, str], int]:
    """Key entries by path and deletion vector: the same split with other deletions differs."""
    vectors = files["deletionVector"].to_pylist()
    return {
        (path, str(vector)): index
        for index, (path, vector) in enumerate(zip(files["path"].to_pylist(), vectors, strict=True))
    }


def _check_files(table: OpenTable, wanted: Snapshot, back: list[AddFile]) -> None:
    """Fail if PURGE has deleted files of the version."""
    needed = {
        *(add.path for add in back),
        *(add.deletion_vector.file for add in back if add.deletion_vector is not None),
        *(index.file for index in wanted.hash_indexes if index.file is not None),
    }
    paths, threads = sorted(needed), table.settings.get(keys.MAX_CONCURRENT_READS)
    found = zip(paths, side_by_side(table.store.head, paths, threads), strict=True)
    missing = [path for path, meta in found if meta is None]
    if missing:
        raise error(
            "RESTORE_FILES_MISSING",
            version=wanted.version,
            count=len(missing),
            first=missing[0],
        )


def _check_version(table: OpenTable, version: int, done: Snapshot, before: Snapshot) -> None:
    """Undo the restore if a clean-up deleted its version in the meantime.

    PURGE cleans the log before it looks for restored splits. So it has seen this commit if the
    version is still there, and else it may delete the splits.
    """
    try:
        looking_again(lambda: table.log.reader.load(version))
    except IndexTablesError as cause:
        if cause.code not in ("VERSION_NOT_AVAILABLE", "FILE_MISSING"):
            # the restore is committed, whatever the store says now
            _log.warning("version %d of `%s` was not checked again: %s", version, table.path, cause)
            return
    else:
        return
    undo = operations.restore(done, before)

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        if newest.version != done.version:
            raise error(
                "COMMIT_CONFLICT",
                operation="undoing a RESTORE",
                winner="another commit",
                version=newest.version,
                detail="it would be undone, too",
            )
        assert undo.rebuild is not None
        return undo.rebuild(newest)

    try:
        after = table.log.commit(replace(undo, rebuild=rebuild, on_companion=True)).version
        state = f"version {after} undid this and is equal to version {before.version}"
    except IndexTablesError as cause:
        _log.warning("the restore of version %d was not undone: %s", version, cause)
        state = f"if files are missing now, restore version {before.version}"
    raise error("RESTORE_CLEANED", version=version, state=state)


def run(command: Restore, context: Context) -> Steps[list[Row]]:
    """Restore a table to a version or a timestamp."""
    timestamp = None if command.timestamp is None else parse_timestamp(command.timestamp)
    table = yield from open_target(command.target, context)
    return run_restore(table, command.version, timestamp)


RULES = (
    Rule(Restore, "RESTORE IX", _PARTS, _OUTPUT, run),
    Rule(Restore, "RESTORE TABLE", _PARTS, _OUTPUT, run, borrowed=True),
)
