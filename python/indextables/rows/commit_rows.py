"""Commit changed rows; recompute the change when another writer commits first."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indextables.log.actions import UPDATED_ROWS
from indextables.log.conflicts import conflict
from indextables.log.protocol import PRIMARY_KEY
from indextables.log.transaction import Operation, Transaction
from indextables.rows.change_rows import joined, put_vectors, without_rows
from indextables.rows.key_rows import KeyRows
from indextables.rows.rebase import rebase_rows
from indextables.rows.upsert import upsert
from indextables.save.splits import discard_staged, discarded_if_refused, features_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyroaring import BitMap

    from indextables.config.settings import Settings
    from indextables.log import Committed, Log, Snapshot
    from indextables.log.actions import Action
    from indextables.log.transaction import Attempt
    from indextables.save.splits import WriteSpec, WrittenSplit


@dataclass(frozen=True)
class RowChange:
    """Deleted rows, by split and position, and the splits of new rows."""

    operation: Operation
    deleted: Mapping[str, BitMap]
    splits: Sequence[WrittenSplit] = ()
    # how the new splits were written; only needed for a table with a primary key
    write: WriteSpec | None = None
    # by old or new split: rows whose old version is deleted and whose new version is added; unset
    # if that is the whole change, as in an update
    updated: Mapping[str, BitMap] = field(default_factory=dict)
    # the id of the commit, for callers that may retry it
    attempt: Attempt | None = None


def commit_rows(log: Log, change: RowChange, table: Snapshot, settings: Settings) -> Committed:
    """Commit a change of rows.

    A delete follows its rows wherever other commits moved them. An update fails if one of its rows
    was changed meanwhile, because it would undo that change.
    """
    key = None if change.write is None else change.write.key
    rows = None
    if change.write is not None and key is not None:
        # a command gives the whole new row, so partial updates are not merged with the old one
        rows = KeyRows(log, change.write, change.splits, replace(key, engine="deduplicate"))

    noted: dict[str, Any] = {}

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        moved = rebase_rows(log, table, newest, change.deleted)
        if not moved.known or (moved.lost and change.operation is not Operation.DELETE):
            detail = "rows of this statement were changed"
            raise conflict(change.operation, None, newest.version, detail)
        if rows is not None:
            done = upsert(rows, newest.files(), newest.hash_indexes, moved.rows)
            noted.update(note_updates(log, joined([change.updated, done.updated]), settings))
            return done.actions
        noted.update(note_updates(log, change.updated, settings))
        gone = without_rows(log, newest.files(), moved.rows, settings)
        return (*gone, *(split.to_add() for split in change.splits))

    transaction = Transaction(
        change.operation,
        table.version,
        rebuild=rebuild,
        notes=lambda: noted,
        features=_features(change),
        metrics={
            "deletedRows": sum(len(bitmap) for bitmap in change.deleted.values()),
            "rows": sum(split.num_records for split in change.splits),
        },
        **({} if change.attempt is None else change.attempt.named()),
    )
    with discarded_if_refused(log.store, change.splits):
        done = log.commit(transaction)
    discard_staged(log.store, change.splits)
    return done


def _features(change: RowChange) -> frozenset[str]:
    write = change.write
    if write is None:
        return frozenset()
    keyed = frozenset({PRIMARY_KEY} if write.key is not None else ())
    return keyed | (features_of(write.settings) if change.splits else frozenset())


def note_updates(
    log: Log, updated: Mapping[str, BitMap], settings: Settings
) -> dict[str, dict[str, Any]]:
    """What the change feed needs to pair old and new versions of rows."""
    vectors = put_vectors(log, {path: rows for path, rows in updated.items() if rows}, settings)
    return {UPDATED_ROWS: {path: asdict(v) for path, v in vectors.items()}}
