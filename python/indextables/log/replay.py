"""Replay of the log in order: the pure core of a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, KeysView, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any

import pyarrow as pa

from indextables.log import entries
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
from indextables.log.lines import ADD, REMOVE, LogActions

ENGINE = "indextables"
_MANY_TABLES = 64


@dataclass(frozen=True)
class Commit:
    """A version file that was read."""

    version: int
    actions: Collection[Action]
    modified_ms: int = 0

    @cached_property
    def facts(self) -> tuple[Action, ...]:
        """The actions that neither add nor remove a split."""
        if isinstance(self.actions, LogActions):
            return self.actions.others
        return tuple(a for a in self.actions if not isinstance(a, AddFile | RemoveFile))

    @cached_property
    def info(self) -> CommitInfo | None:
        """The commitInfo, if the writer wrote one."""
        return next((a for a in self.facts if isinstance(a, CommitInfo)), None)

    @property
    def timestamp(self) -> int:
        """The timestamp of the commit, or of its file if the commit has none."""
        return self.info.timestamp if self.info is not None else self.modified_ms


@dataclass(frozen=True)
class Added:
    """Entries by path, as row numbers across all tables; some rows belong to no path."""

    rows: Mapping[str, int] = field(default_factory=dict)
    tables: tuple[pa.Table, ...] = ()

    @property
    def paths(self) -> KeysView[str]:
        """The paths."""
        return self.rows.keys()

    @cached_property
    def entries(self) -> pa.Table:
        """One row for each path."""
        table = entries.concat(self.tables)
        if len(self.rows) == table.num_rows:
            return table
        return table.take(pa.array(self.rows.values(), pa.int64()))

    def packed(self) -> Added:
        """The same in one table, if there are many tables or most rows belong to no path."""
        if len(self.tables) <= _MANY_TABLES and self._height <= 2 * len(self.rows) + _MANY_TABLES:
            return self
        return Added(dict(zip(self.rows, count(), strict=False)), (self.entries.combine_chunks(),))

    @cached_property
    def _height(self) -> int:
        return sum(table.num_rows for table in self.tables)


@dataclass(frozen=True)
class Change:
    """All changes since a base.

    `adds` are the live splits that the base does not have in this form, `removes` the splits of the
    base that were removed or replaced, with their sizes. A path in both was replaced, for example
    to delete more rows.
    """

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    adds: Added = field(default_factory=Added)
    removes: Mapping[str, int | None] = field(default_factory=dict)
    txns: Mapping[str, Txn] = field(default_factory=dict)
    skips: Mapping[str, SkipFile] = field(default_factory=dict)
    indexes: Mapping[Any, IndexFile] = field(default_factory=dict)
    unknown: tuple[UnknownAction, ...] = ()
    # all commits came from this implementation, which never adds a live path without removing it
    ours: bool = True


def replay(start: Change, commits: Iterable[Commit]) -> Change:
    """The change after more commits, whose actions are applied strictly in order."""
    splits = _Splits(start)
    facts: list[Action] = []
    for commit in commits:
        facts += commit.facts
        splits.ours = splits.ours and _is_ours(commit)
        splits.follow(commit)
    adds = splits.added()
    return replace(_with_facts(start, facts), adds=adds, removes=splits.removes, ours=splits.ours)


class _Splits:
    """The splits added and removed while commits are replayed."""

    def __init__(self, start: Change) -> None:
        self.ours = start.ours
        self.rows, self.removes = dict(start.adds.rows), dict(start.removes)
        self.tables = list(start.adds.tables)
        self.height = sum(table.num_rows for table in self.tables)
        # entries that are not in a table yet, the last of them in row `height` - 1
        self.pending: list[AddFile] = []

    def follow(self, commit: Commit) -> None:
        if isinstance(commit.actions, LogActions):
            self._follow_columns(commit, commit.actions)
            return
        for action in commit.actions:
            if isinstance(action, AddFile):
                self.pending.append(_stamped(action, commit))
                self.rows[action.path] = self.height
                self.height += 1
            elif isinstance(action, RemoveFile):
                self._remove(action.path, action.size)

    def _follow_columns(self, commit: Commit, actions: LogActions) -> None:
        added = zip(actions.adds["path"].to_pylist(), count(self.height), strict=False)
        sizes = actions.removes["size"].to_pylist()
        removed = zip(actions.removes["path"].to_pylist(), sizes, strict=True)
        for kind in actions.kinds:
            if kind == ADD:
                path, row = next(added)
                self.rows[path] = row
            elif kind == REMOVE:
                self._remove(*next(removed))
        if actions.adds.num_rows:
            self._settle()
            self.tables.append(entries.stamped(actions.adds, commit.version, commit.timestamp))
            self.height += actions.adds.num_rows

    def _remove(self, path: str, size: int | None) -> None:
        if self.rows.pop(path, None) is None or not self.ours:
            self.removes.setdefault(path, size)

    def _settle(self) -> None:
        if self.pending:
            self.tables.append(entries.from_adds(self.pending))
            self.pending = []

    def added(self) -> Added:
        self._settle()
        return Added(self.rows, tuple(self.tables)).packed()


def _stamped(action: AddFile, commit: Commit) -> AddFile:
    if action.added_at_version or action.added_at_timestamp:
        return action
    return replace(
        action,
        added_at_version=commit.version,
        added_at_timestamp=commit.timestamp or action.modification_time,
    )


def _with_facts(start: Change, actions: Iterable[Action]) -> Change:
    """The change after actions that do not add or remove splits."""
    protocol, metadata = start.protocol, start.metadata
    txns, skips, indexes = dict(start.txns), dict(start.skips), dict(start.indexes)
    unknown = list(start.unknown)
    for action in actions:
        match action:
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
    return replace(
        start,
        protocol=protocol,
        metadata=metadata,
        txns=txns,
        skips=skips,
        indexes=indexes,
        unknown=tuple(unknown),
    )


def _note_index(indexes: dict[Any, IndexFile], action: IndexFile) -> None:
    indexes.pop(action.place, None)
    if action.file is not None:
        indexes[action.place] = action


def _is_ours(commit: Commit) -> bool:
    info = commit.info
    return info is not None and (info.engine_info or "").startswith(ENGINE)
