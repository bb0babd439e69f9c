"""The transaction log: pure rules apart from reading and writing.

Pure: actions, codec, replay, conflicts, retention, registry, partitions, state.
Acting: log (the entry point), reading, committing, checkpoints, cleaning, history.
"""

from indextables.log.actions import (
    AddFile,
    CommitInfo,
    DeletionVector,
    IndexFile,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
)
from indextables.log.log import Log, open_log
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Committed, Operation, Transaction

__all__ = [
    "AddFile",
    "CommitInfo",
    "Committed",
    "DeletionVector",
    "IndexFile",
    "Log",
    "Metadata",
    "Operation",
    "Protocol",
    "RemoveFile",
    "SkipFile",
    "Snapshot",
    "Transaction",
    "Txn",
    "open_log",
]
