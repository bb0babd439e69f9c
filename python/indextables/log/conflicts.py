"""When a commit must not follow the commits that came before it.

A transaction is computed for the version it will follow, so it sees earlier commits. Checked for
all of them alike: that the files it removes are there, and that the files it brings were written
for columns that the table still has. The table in docs/spec/PROTOCOL.md says what becomes of every
pair of changes, and is tested.
"""

from __future__ import annotations

import pyarrow.compute as pc

from indextables.errors import IndexTablesError, error
from indextables.log import entries
from indextables.log.actions import AddFile, Metadata, RemoveFile
from indextables.log.replay import Commit
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Operation, Transaction


def check_fits(mine: Transaction, before: Metadata, now: Metadata, built: Commit) -> None:
    """Raise a ConflictError if files of a transaction were written for another schema.

    One that brings its own schema, such as an overwrite that changes it, fits by itself.
    """
    own = next((a for a in built.actions if isinstance(a, Metadata)), now)
    brings = own.schema_string != now.schema_string
    adds = any(isinstance(a, AddFile) for a in built.actions)
    same = before.partition_columns == now.partition_columns and still_fits(before, now)
    if adds and not brings and not (same and before.id == now.id):
        raise conflict(mine.operation, None, built.version - 1, "the schema has changed")


def check_removes(mine: Transaction, newest: Snapshot, built: Commit) -> None:
    """Raise a ConflictError if a transaction removes a file that is not there any more."""
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
    """Whether files written for one schema belong into a table of the other.

    New nullable columns do no harm: old files read as null there.
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
    """The error for a change that another commit overtook."""
    return error(
        "COMMIT_CONFLICT",
        operation=str(operation),
        winner=winner or "another writer",
        version=version,
        detail=detail,
    )
