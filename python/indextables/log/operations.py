"""Changes of a table as transactions: what each removes, adds and relies on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from indextables.log import entries
from indextables.log.actions import (
    Action,
    AddFile,
    IndexFile,
    Metadata,
    RemoveFile,
)
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Operation, Transaction
from indextables.model import kernels as pc


def drop_matching(
    read: Snapshot, matching: Callable[[Snapshot], pa.Table], **facts: Any
) -> Transaction:
    """Remove the splits that match at commit time (whole partitions)."""

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        return removals(matching(now))

    return Transaction(Operation.DROP_PARTITIONS, read.version, rebuild=rebuild, **facts)


def change_metadata(
    read: Snapshot, change: Callable[[Metadata], Metadata], **facts: Any
) -> Transaction:
    """Change schema or configuration, computed from the latest snapshot at commit time."""

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        return (change(now.metadata),)

    return Transaction(Operation.CHANGE_METADATA, read.version, rebuild=rebuild, **facts)


def restore(read: Snapshot, target: Snapshot, **facts: Any) -> Transaction:
    """Restore the splits and metadata of an older version as a new version."""

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        here = {add.path: add for add in entries.to_adds(now.files())}
        there = {add.path: add for add in entries.to_adds(target.files())}
        same = {p for p in here.keys() & there.keys() if _same(here[p], there[p])}
        removed = [removal(here[path]) for path in here if path not in same]
        added = [
            replace(
                _with_mapping(add, now, target),
                data_change=True,
                added_at_version=0,
                added_at_timestamp=0,
            )
            for path, add in there.items()
            if path not in same
        ]
        changed = () if now.metadata == target.metadata else (target.metadata,)
        return (*changed, *removed, *added, *_indexes_back(now, target))

    facts.setdefault("parameters", {"version": target.version})
    return Transaction(Operation.RESTORE, read.version, rebuild=rebuild, **facts)


def _with_mapping(add: AddFile, now: Snapshot, target: Snapshot) -> AddFile:
    """The split with its document mapping if the newest version does not know its reference."""
    ref = add.doc_mapping_ref
    if ref is None or ref in now.registry or ref not in target.registry:
        return add
    return replace(add, doc_mapping_json=target.registry[ref])


def _indexes_back(now: Snapshot, target: Snapshot) -> list[IndexFile]:
    """The hash indexes of an older version; buckets it did not have are removed."""
    here, there = now.change.indexes, target.change.indexes
    gone = [replace(i, file=None, size=None) for p, i in here.items() if p not in there]
    return [*gone, *(index for place, index in there.items() if here.get(place) != index)]


def _same(one: AddFile, other: AddFile) -> bool:
    return one.deletion_vector == other.deletion_vector


def touched(read: Snapshot, paths: list[str]) -> pa.Table:
    """The entries of these paths."""
    table = read.files()
    wanted = pc.is_in(table["path"], value_set=pa.array(paths, pa.string()))
    return table.filter(wanted)


def removals(table: pa.Table, *, data_change: bool = True) -> tuple[RemoveFile, ...]:
    """A removal for every entry."""
    columns = table.select(["path", "partitionValues", "size"]).to_pydict().values()
    return tuple(
        RemoveFile(path, None, data_change, dict(values), size)
        for path, values, size in zip(*columns, strict=True)
    )


def removal(add: AddFile) -> RemoveFile:
    """The removal of one file."""
    return RemoveFile(add.path, None, True, add.partition_values, add.size)  # noqa: FBT003
