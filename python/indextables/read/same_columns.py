"""Rows of other versions are read with the columns of the version that was opened.

That version may have replaced the schema or the partitioning. Rows written before that cannot be
read as its rows: a long is no string, and partition values are not in the splits.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.errors import IndexTablesError, error
from indextables.log.actions import AddFile, Metadata, RemoveFile
from indextables.plan.schemas import other_columns

if TYPE_CHECKING:
    from indextables.log.replay import Commit
    from indextables.read.table import OpenTable


@dataclass
class SameColumns:
    """Raises an error for versions whose rows cannot be read; commits come in their order."""

    table: OpenTable
    # the columns of the last commit, as far as they are known; whether commits had rows
    _metadata: Metadata | None = None
    _rows: bool = False

    def check_version(self, version: int) -> None:
        """Check the live rows of a version, and with them those of the commits before it."""
        if version < self.table.snapshot.version:
            self._check(version, self._load(version))

    def check_commit(self, commit: Commit) -> None:
        """Check the rows that a commit added and those that it removed."""
        adds = any(isinstance(action, AddFile) for action in commit.actions)
        removes = any(isinstance(action, RemoveFile) for action in commit.actions)
        found = [action for action in commit.facts if isinstance(action, Metadata)]
        if found:
            before = self._metadata or self._load(commit.version - 1)
            if removes or self._rows:
                self._check(commit.version - 1, before)
            self._metadata = found[-1]
        self._rows = self._rows or adds or removes
        if adds:
            self._check(commit.version, self._metadata)

    def _load(self, version: int) -> Metadata | None:
        """The columns of a version, or None if it cannot be loaded any more."""
        with contextlib.suppress(IndexTablesError):
            return self.table.log.snapshot(version).metadata if version >= 0 else None
        return None

    def _check(self, version: int, metadata: Metadata | None) -> None:
        now = self.table.snapshot
        if metadata is None:
            return
        if metadata.partition_columns != now.partition_columns:
            columns = [
                ", ".join(c) or "none" for c in (metadata.partition_columns, now.partition_columns)
            ]
            detail = f"it is partitioned by {columns[0]}, now by {columns[1]}"
        elif problems := other_columns(metadata.schema, now.schema):
            detail = problems[0]
        else:
            return
        raise error(
            "CHANGES_SCHEMA", version=version, path=self.table.path, now=now.version, detail=detail
        )
