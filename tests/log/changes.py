"""Changes of a table in the log alone, without splits: short versions of the verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from indextables.log import Operation, Snapshot, Transaction, entries
from indextables.log.actions import Action, AddFile, DeletionVector, Metadata
from indextables.log.conflicts import conflict
from indextables.log.operations import change_metadata, drop_matching, removals, restore, touched

__all__ = [
    "append",
    "change_metadata",
    "change_rows",
    "drop_matching",
    "merge_splits",
    "overwrite",
    "restore",
    "touched",
]


def append(read: Snapshot, adds: Iterable[AddFile], **facts: Any) -> Transaction:
    return Transaction(Operation.APPEND, read.version, tuple(adds), **facts)


def overwrite(
    read: Snapshot,
    adds: Iterable[AddFile],
    metadata: Callable[[Metadata], Metadata] | None = None,
    **facts: Any,
) -> Transaction:
    new = tuple(adds)

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        changed = () if metadata is None else (metadata(now.metadata),)
        return (*changed, *removals(now.files()), *new)

    return Transaction(Operation.OVERWRITE, read.version, rebuild=rebuild, **facts)


def _unchanged(operation: Operation, read: Snapshot, now: Snapshot, paths: list[str]) -> Any:
    """The entries of these paths, which must be as they were read."""
    found = touched(now, paths)
    if _vectors(touched(read, paths)) != _vectors(found):
        raise conflict(operation, None, now.version, "the splits were changed")
    return found


def _vectors(files: Any) -> dict[str, Any]:
    columns = files["path"].to_pylist(), files["deletionVector"].to_pylist()
    return dict(zip(*columns, strict=True))


def change_rows(
    operation: Operation,
    read: Snapshot,
    vectors: Mapping[str, DeletionVector],
    *,
    adds: Iterable[AddFile] = (),
    **facts: Any,
) -> Transaction:
    new = tuple(adds)

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        found = _unchanged(operation, read, now, list(vectors))
        changed = [
            replace(add, deletion_vector=vectors[add.path], data_change=True)
            for add in entries.to_adds(found)
        ]
        return (*removals(found), *changed, *new)

    return Transaction(operation, read.version, rebuild=rebuild, **facts)


def merge_splits(
    read: Snapshot, sources: Iterable[str], merged: Iterable[AddFile], **facts: Any
) -> Transaction:
    gone, new = list(sources), tuple(replace(add, data_change=False) for add in merged)

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        found = _unchanged(Operation.MERGE_SPLITS, read, now, gone)
        return (*removals(found, data_change=False), *new)

    return Transaction(Operation.MERGE_SPLITS, read.version, rebuild=rebuild, **facts)
