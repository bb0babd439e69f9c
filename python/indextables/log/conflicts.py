"""When a commit must not follow the commits that came before it.

A transaction is computed for the version it will follow, so it sees earlier commits. Every one of
them is checked: the splits it removes must still be live, and the splits it adds must have been
written for columns that the table still has. The table in docs/spec/PROTOCOL.md gives the outcome
of every pair of changes, and is tested.
"""

from __future__ import annotations

import json
from typing import Any

from indextables.errors import IndexTablesError, error
from indextables.log import entries
from indextables.log.actions import INDEXING_KEY, AddFile, Metadata, RemoveFile
from indextables.log.replay import Commit
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Operation, Transaction
from indextables.model import kernels as pc


def check_fits(mine: Transaction, before: Metadata, newest: Snapshot, built: Commit) -> None:
    """Raise a ConflictError if splits of a transaction were written for another table.

    That is a table of another schema, or whose columns are indexed differently. A transaction with
    its own schema or indexing options, such as an overwrite that changes them, always fits.
    """
    now = newest.metadata
    own = next((a for a in built.actions if isinstance(a, Metadata)), now)
    brings = own.schema_string != now.schema_string or indexing_of(own) != indexing_of(now)
    adds = {a.path for a in built.actions if isinstance(a, AddFile)}
    if not adds or brings:
        return
    same = before.partition_columns == now.partition_columns and still_fits(before, now)
    if not (same and before.id == now.id):
        raise conflict(mine.operation, None, built.version - 1, "the schema has changed")
    if not _indexed_alike(before, now) and adds - {*newest.files()["path"].to_pylist()}:
        raise conflict(mine.operation, None, built.version - 1, "columns were reindexed")


def indexing_of(metadata: Metadata) -> dict[str, Any]:
    """How the columns of a table are indexed; empty if another writer created it."""
    found: dict[str, Any] = json.loads(metadata.configuration.get(INDEXING_KEY, "{}"))
    return found


def _indexed_alike(before: Metadata, now: Metadata) -> bool:
    """Whether the columns that both have are indexed in one way."""
    old, new = indexing_of(before), indexing_of(now)
    return all(new[name] == old[name] for name in old.keys() & new.keys())


def check_removes(mine: Transaction, newest: Snapshot, built: Commit) -> None:
    """Raise a ConflictError if a transaction removes a split that is no longer live."""
    gone = [action.path for action in built.actions if isinstance(action, RemoveFile)]
    if not gone:
        return
    paths = entries.texts(gone)
    live = pc.is_in(paths, value_set=newest.files()["path"])
    if not pc.all(live).as_py():
        first = paths.filter(pc.invert(live))[0].as_py()
        detail = f"it removed or changed `{first}`"
        raise conflict(mine.operation, None, newest.version, detail)


def still_fits(before: Metadata, after: Metadata) -> bool:
    """Whether splits written for one schema fit a table with the other.

    New nullable columns are harmless: older splits read as null there.
    """
    if before.schema_string == after.schema_string:
        return True
    old = {field.name: field for field in before.schema.fields}
    new = {field.name: field for field in after.schema.fields}
    return all(
        name in new and new[name].type == field.type and (new[name].nullable or not field.nullable)
        for name, field in old.items()
    ) and all(field.nullable for name, field in new.items() if name not in old)


def conflict(
    operation: Operation, winner: str | None, version: int, detail: str
) -> IndexTablesError:
    """The error for a change that conflicts with an earlier commit."""
    return error(
        "COMMIT_CONFLICT",
        operation=str(operation),
        winner=winner or "another writer",
        version=version,
        detail=detail,
    )
