"""What the log says when it is read in order: the pure heart of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from indextables.log.actions import (
    Action,
    AddFile,
    CommitInfo,
    IndexFile,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
)

ENGINE = "indextables"


@dataclass(frozen=True)
class Commit:
    """One version file, read."""

    version: int
    actions: tuple[Action, ...]
    modified_ms: int = 0

    @property
    def info(self) -> CommitInfo | None:
        """Who did it, if the writer said."""
        return next((a for a in self.actions if isinstance(a, CommitInfo)), None)

    @property
    def timestamp(self) -> int:
        """When it was made, by its own word or by the file's age."""
        return self.info.timestamp if self.info is not None else self.modified_ms


@dataclass(frozen=True)
class Change:
    """Everything after a base, folded together.

    `adds` are the live files that the base does not have in this form, `removes` the base's files
    that are gone or replaced. A path in both was replaced, for example by one with new deletions.
    """

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    adds: Mapping[str, AddFile] = field(default_factory=dict)
    removes: Mapping[str, RemoveFile] = field(default_factory=dict)
    txns: Mapping[str, Txn] = field(default_factory=dict)
    skips: Mapping[str, SkipFile] = field(default_factory=dict)
    indexes: Mapping[Any, IndexFile] = field(default_factory=dict)
    unknown: tuple[UnknownAction, ...] = ()
    # all commits came from this implementation, which never adds a live path without removing it
    ours: bool = True


def replay(start: Change, commits: Iterable[Commit]) -> Change:
    """The change after more commits, their actions taken strictly in order."""
    protocol, metadata = start.protocol, start.metadata
    adds, removes = dict(start.adds), dict(start.removes)
    txns, skips = dict(start.txns), dict(start.skips)
    indexes = dict(start.indexes)
    unknown, ours = list(start.unknown), start.ours
    for commit in commits:
        ours = ours and _is_ours(commit)
        for action in commit.actions:
            match action:
                case AddFile():
                    adds[action.path] = _stamped(action, commit)
                case RemoveFile():
                    gone = adds.pop(action.path, None)
                    if gone is None or not ours:
                        removes.setdefault(action.path, action)
                case Protocol():
                    protocol = action
                case Metadata():
                    metadata = action
                case Txn():
                    txns[action.app_id] = action
                case SkipFile():
                    skips[action.path] = action
                case IndexFile():
                    _note_index(indexes, action)
                case UnknownAction():
                    unknown.append(action)
    return Change(protocol, metadata, adds, removes, txns, skips, indexes, tuple(unknown), ours)


def _note_index(indexes: dict[Any, IndexFile], action: IndexFile) -> None:
    indexes.pop(action.place, None)
    if action.file is not None:
        indexes[action.place] = action


def _stamped(action: AddFile, commit: Commit) -> AddFile:
    if action.added_at_version or action.added_at_timestamp:
        return action
    return replace(
        action,
        added_at_version=commit.version,
        added_at_timestamp=commit.timestamp or action.modification_time,
    )


def _is_ours(commit: Commit) -> bool:
    info = commit.info
    return info is not None and (info.engine_info or "").startswith(ENGINE)
