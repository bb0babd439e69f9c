"""Find rows, given by their positions in one version, in a newer version.

Rows of a split never change their positions. MERGE SPLITS concatenates its sources and leaves out
deleted rows, so the new position of a row follows from what the commit records.
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
    """The current positions of rows, and how many other commits removed or changed.

    `known` is false if the log does not record what happened to some of them.
    """

    rows: Mapping[str, BitMap]
    lost: int = 0
    known: bool = True


def rebase_rows(log: Log, read: Snapshot, newest: Snapshot, rows: Mapping[str, BitMap]) -> Rebased:
    """Map rows of the version that was read to the newest version."""
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
    """All positions the rows have had. Several may hold the same row; one of them is live.

    RESTORE can bring a removed split back, with its rows at the same positions. `clear` are vectors
    that delete none of the rows.
    """

    log: Log
    rows: dict[str, BitMap]
    clear: dict[str, DeletionVector | None]

    def follow(self, commit: Commit) -> None:
        """Add the positions that one commit gives the rows."""
        sources = commit.info.parameters.get("sources", {}) if commit.info is not None else {}
        for output, paths in sources.items():
            if any(path in self.rows for path in paths):
                self._merge(commit.version, output, paths)

    def _merge(self, version: int, output: str, paths: Sequence[str]) -> None:
        """Rows of merged splits get their positions in the result."""
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
        """The live positions, without the rows that others deleted."""
        found = {}
        for add in _entries(newest, self.rows):
            vector, hidden = add.deletion_vector, BitMap()
            if vector is not None and vector != self.clear[add.path]:
                hidden = load_deletions(self.log.store, vector)
            if rows := self.rows[add.path] - hidden:
                found[add.path] = rows
        return found
