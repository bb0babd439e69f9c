"""What a writer wants to commit, and what it relied on."""

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
    """A change of a table, made against a version that was read.

    `rebuild` works out the actions for the snapshot they will follow, again for every snapshot
    that another writer makes the newest. It raises a ConflictError when what it relies on is gone.
    `actions` are for changes that rely on nothing.
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
    # more members of commitInfo, for readers that know them; asked for after `rebuild`
    notes: Callable[[], Mapping[str, Any]] = dict
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    # a change that a companion index allows: of its splits or of what it says of its source
    on_companion: bool = False
    # an earlier try of the same id may have written a version after this one
    tried_after: int | None = None


@dataclass(frozen=True)
class Attempt:
    """The name of a commit that is tried again when the process that ran it was lost.

    `tried_after`: an earlier try may have written a version after this one.
    """

    id: str
    tried_after: int | None = None

    def named(self) -> dict[str, Any]:
        """The members of a transaction that tell it from others."""
        return {"id": self.id, "tried_after": self.tried_after}


@dataclass(frozen=True)
class Committed:
    """The outcome: the version, and the table as it is with it.

    `skipped` says that a streaming batch had been committed before, so nothing was written.
    """

    version: int
    snapshot: Snapshot
    skipped: bool = False
