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
from indextables.log import entries
from indextables.log.actions import AddFile, RemoveFile
from indextables.log.operations import touched
from indextables.ops.vectors import load_deletions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.log import Log, Snapshot
    from indextables.log.actions import DeletionVector
    from indextables.log.replay import Commit


@dataclass(frozen=True)
class Rebased:
    """Where the rows are now, and how many others have removed or changed meanwhile.

    `known` is false when the log no longer says what happened.
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
    before = {add.path: add.deletion_vector for add in _entries(read, list(rows))}
    walk = _Walk(log, dict(rows), dict(before), set(before.items()))
    for commit in commits:
        walk.follow(commit)
    return walk.finish()


def _entries(snapshot: Snapshot, paths: Sequence[str]) -> list[AddFile]:
    return entries.to_adds(touched(snapshot, list(paths)))


@dataclass
class _Walk:
    """The rows on their way through commits. `seen` are vectors that hide none of them."""

    log: Log
    rows: dict[str, BitMap]
    vectors: dict[str, DeletionVector | None]
    seen: set[tuple[str, DeletionVector | None]]
    lost: int = 0

    def follow(self, commit: Commit) -> None:
        """Apply one commit."""
        removed = {a.path for a in commit.actions if isinstance(a, RemoveFile)}
        added = {a.path: a for a in commit.actions if isinstance(a, AddFile)}
        gone = [path for path in self.rows if path in removed and path not in added]
        for path in self.rows:
            if path in added:
                self.vectors[path] = added[path].deletion_vector
        if not gone:
            return
        sources = commit.info.parameters.get("sources", {}) if commit.info is not None else {}
        moved = {path: out for out, paths in sources.items() for path in paths}
        for output in {moved[path] for path in gone if path in moved}:
            self._merge(commit.version, output, sources[output])
        for path in gone:
            if path not in moved:
                self.lost += len(self.rows.pop(path))

    def _merge(self, version: int, output: str, paths: Sequence[str]) -> None:
        """Rows of merged splits get the numbers they have in the result."""
        by_path = {add.path: add for add in _entries(self.log.snapshot(version - 1), paths)}
        base = 0
        found = BitMap()
        for path in paths:
            vector, count = by_path[path].deletion_vector, by_path[path].num_records
            hidden = BitMap() if vector is None else load_deletions(self.log.store, vector)
            mine = self.rows.pop(path, BitMap())
            self.lost += len(mine & hidden)
            at = np.asarray((mine - hidden).to_array(), dtype=np.int64)
            skipped = np.searchsorted(np.asarray(hidden.to_array(), dtype=np.int64), at)
            found |= BitMap((at - skipped + base).astype(np.uint32))
            base += (count or 0) - len(hidden)
        self.rows[output] = found
        self.vectors[output] = None
        self.seen.add((output, None))

    def finish(self) -> Rebased:
        """Leave out the rows that others deleted."""
        for path, rows in list(self.rows.items()):
            vector = self.vectors.get(path)
            if vector is not None and (path, vector) not in self.seen:
                hidden = load_deletions(self.log.store, vector)
                self.lost += len(rows & hidden)
                self.rows[path] = rows - hidden
        return Rebased({path: rows for path, rows in self.rows.items() if rows}, self.lost)
