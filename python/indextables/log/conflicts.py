"""When a commit must not follow the commits that came before it: the logical rules.

The rules look at what actions do, not at the names of operations, so they hold for every pair; the
table in docs/spec/PROTOCOL.md spells the pairs out, and is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from indextables.errors import IndexTablesError, error
from indextables.log.actions import AddFile, Metadata, Protocol, RemoveFile
from indextables.log.replay import Commit
from indextables.log.transaction import Transaction


def relies_on_files(mine: Transaction) -> bool:
    """Whether a transaction depends on files of the table, not only on its schema."""
    return mine.reads is not None or any(isinstance(a, RemoveFile) for a in mine.actions)


def check(mine: Transaction, before: Callable[[], Metadata], winners: Iterable[Commit]) -> None:
    """Raise a ConflictError if a transaction that stands as it is may not follow the winners.

    `before` gives the metadata the transaction was made for; it is asked only if it changed.
    """
    touched = {a.path for a in mine.actions if isinstance(a, RemoveFile)}
    added = {a.path for a in mine.actions if isinstance(a, AddFile)} - touched
    for winner in winners:
        for action in winner.actions:
            match action:
                case RemoveFile():
                    if action.path in touched:
                        raise _conflict(mine, winner, f"it removed or changed `{action.path}`")
                    if mine.reads is not None and action.data_change and mine.reads(action):
                        raise _conflict(mine, winner, f"it removed `{action.path}`, which was read")
                case AddFile():
                    if action.path in touched or action.path in added:
                        raise _conflict(mine, winner, f"it added `{action.path}`")
                    if mine.reads is not None and action.data_change and mine.reads(action):
                        raise _conflict(mine, winner, f"it added `{action.path}`")
                case Metadata():
                    _check_metadata(mine, winner, before(), action)
                case Protocol():
                    if any(isinstance(a, Protocol) for a in mine.actions):
                        raise _conflict(mine, winner, "both change the protocol")


def _check_metadata(mine: Transaction, winner: Commit, before: Metadata, after: Metadata) -> None:
    if any(isinstance(a, Metadata) for a in mine.actions):
        raise _conflict(mine, winner, "both change the metadata")
    adds = any(isinstance(a, AddFile) for a in mine.actions)
    if adds and before.id != after.id:
        raise _conflict(mine, winner, "it replaced the table")
    if adds and before.partition_columns != after.partition_columns:
        raise _conflict(mine, winner, "it changed the partitioning")
    if adds and not still_fits(before, after):
        raise _conflict(mine, winner, "it changed the schema")


def check_rebuilt(mine: Transaction, before: Metadata, now: Metadata, built: Commit) -> None:
    """Raise a ConflictError if files of a rebuilt transaction were written for another schema.

    One that brings its own schema, such as an overwrite that changes it, fits by itself.
    """
    own = next((a for a in built.actions if isinstance(a, Metadata)), now)
    brings = own.schema_string != now.schema_string
    adds = any(isinstance(a, AddFile) for a in built.actions)
    same = before.partition_columns == now.partition_columns and still_fits(before, now)
    if adds and not brings and not same:
        raise conflict(mine, None, built.version - 1, "the schema has changed")


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


def _conflict(mine: Transaction, winner: Commit, detail: str) -> IndexTablesError:
    name = winner.info.operation if winner.info is not None else None
    return conflict(mine, name, winner.version, detail)


def conflict(mine: Transaction, winner: str | None, version: int, detail: str) -> IndexTablesError:
    """The error for a transaction that another commit overtook."""
    return error(
        "COMMIT_CONFLICT",
        operation=str(mine.operation),
        winner=winner or "another writer",
        version=version,
        detail=detail,
    )
