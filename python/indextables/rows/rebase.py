"""Rows by their place in a version, found again in a newer one.

A split keeps its rows' numbers as long as it lives. MERGE SPLITS puts its sources one after
another and leaves deleted rows out, so a row's new number follows from what the commit says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

from indextables.errors import StorageError
from indextables.index.vectors import load_deletions
from indextables.log import Operation, entries
from indextables.log.operations import touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from indextables.log import Log, Snapshot
    from indextables.log.actions import AddFile, DeletionVector
    from indextables.log.replay import Commit


@dataclass(frozen=True)
class Rebased:
    """Where the rows are now, and how many others have removed or changed meanwhile.

    `known` is false when the log does not say what happened to some.
    """

    rows: Mapping[str, BitMap]
    lost: int = 0
    known: bool = True


def rebase_rows(log: Log, read: Snapshot, newest: Snapshot, rows: Mapping[str, BitMap]) -> Rebased:
    """Rows of the version that was read, as they are in the newest."""
    if read.version == newest.version or not rows:
        return Rebased(rows)
    try:
        commits = log.reader.commits(read.version + 1, newest.version)
    except StorageError as cause:
        if cause.code != "FILE_MISSING":
            raise
        return Rebased({}, known=False)
    walk = _Walk(log, dict(rows), {add.path: add.deletion_vector for add in _entries(read, rows)})
    for commit in commits:
        walk.follow(commit)
    found = walk.finish(newest)
    lost = sum(map(len, rows.values())) - sum(map(len, found.values()))
    # such a row may be in a split from before a merge, at a position that is not known here
    restored = any(c.info is not None and c.info.operation == Operation.RESTORE for c in commits)
    return Rebased(found, lost, known=not (lost and restored))


def _entries(snapshot: Snapshot, paths: Iterable[str]) -> list[AddFile]:
    return entries.to_adds(touched(snapshot, list(paths)))


@dataclass
class _Walk:
    """All places the rows have had. Several may hold the same row, one of them is live.

    A split that went can come back, by RESTORE; its rows have kept their numbers. `clear` are
    vectors that hide none of the rows.
    """

    log: Log
    rows: dict[str, BitMap]
    clear: dict[str, DeletionVector | None]

    def follow(self, commit: Commit) -> None:
        """Learn the places that one commit gives the rows."""
        sources = commit.info.parameters.get("sources", {}) if commit.info is not None else {}
        for output, paths in sources.items():
            if any(path in self.rows for path in paths):
                self._merge(commit.version, output, paths)

    def _merge(self, version: int, output: str, paths: Sequence[str]) -> None:
        """Rows of merged splits get the numbers they have in the result."""
        by_path = {add.path: add for add in _entries(self.log.snapshot(version - 1), paths)}
        base = 0
        found = BitMap()
        for path in paths:
            vector, count = by_path[path].deletion_vector, by_path[path].num_records
            hidden = BitMap() if vector is None else load_deletions(self.log.store, vector)
            mine = self.rows.get(path, BitMap()) - hidden
            at = np.asarray(mine.to_array(), dtype=np.int64)
            skipped = np.searchsorted(np.asarray(hidden.to_array(), dtype=np.int64), at)
            found |= BitMap((at - skipped + base).astype(np.uint32))
            base += (count or 0) - len(hidden)
        self.rows[output] = found
        self.clear[output] = None

    def finish(self, newest: Snapshot) -> dict[str, BitMap]:
        """The places that are live, without the rows that others deleted."""
        found = {}
        for add in _entries(newest, self.rows):
            vector, hidden = add.deletion_vector, BitMap()
            if vector is not None and vector != self.clear[add.path]:
                hidden = load_deletions(self.log.store, vector)
            if rows := self.rows[add.path] - hidden:
                found[add.path] = rows
        return found
