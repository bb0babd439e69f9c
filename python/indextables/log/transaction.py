"""A change that a writer commits, and what it relies on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from indextables.log.actions import Action, Txn
from indextables.log.snapshot import Snapshot


class Operation(StrEnum):
    """The operation of a commit, as shown in the history."""

    CREATE = "CREATE TABLE"
    APPEND = "APPEND"
    OVERWRITE = "OVERWRITE"
    REPLACE_WHERE = "REPLACE WHERE"
    DELETE = "DELETE"
    UPDATE = "UPDATE"
    MERGE_INTO = "MERGE INTO"
    UPSERT = "UPSERT"
    MERGE_SPLITS = "MERGE SPLITS"
    REINDEX = "REINDEX"
    DROP_PARTITIONS = "DROP PARTITIONS"
    CHANGE_METADATA = "CHANGE METADATA"
    RESTORE = "RESTORE"
    SKIP = "SKIP SPLITS"
    CHECKPOINT = "CHECKPOINT"
    SYNC = "SYNC COMPANION"
    REPAIR = "REPAIR"


Rebuild: TypeAlias = Callable[[Snapshot], tuple[Action, ...]]


@dataclass(frozen=True)
class Transaction:
    """A change of a table, computed for a version that was read.

    `rebuild` computes the actions for the snapshot they will follow, again for every newer snapshot
    of another writer. It raises a ConflictError if what it relies on is gone. `actions` are for
    changes that rely on nothing.
    """

    operation: Operation
    read_version: int
    actions: tuple[Action, ...] = ()
    rebuild: Rebuild | None = None
    features: frozenset[str] = frozenset()
    txn: Txn | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    user_metadata: str | None = None
    # more members of commitInfo, for readers that know them; read after `rebuild`
    notes: Callable[[], Mapping[str, Any]] = dict
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    # a change that a companion allows: of its splits or of its facts about the source
    on_companion: bool = False
    # an earlier attempt with the same id may have written a version after this one
    tried_after: int | None = None
    # an append that may share its version with those of other threads
    shares: bool = False


@dataclass(frozen=True)
class Attempt:
    """The id of a commit that is retried when the process that ran it was lost.

    `tried_after`: an earlier attempt may have written a version after this one.
    """

    id: str
    tried_after: int | None = None

    def named(self) -> dict[str, Any]:
        """The members that identify a transaction."""
        return {"id": self.id, "tried_after": self.tried_after}


@dataclass(frozen=True)
class Committed:
    """The outcome: the version, and the table at it.

    `skipped` says that a streaming batch had been committed before, so nothing was written.
    """

    version: int
    snapshot: Snapshot
    skipped: bool = False
