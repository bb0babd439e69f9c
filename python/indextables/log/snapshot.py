"""A table at one version: its metadata, and its live splits as an Arrow table, loaded on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol as Interface
from typing import TypeAlias

import pyarrow as pa

from indextables.errors import StorageError
from indextables.log import entries, registry
from indextables.log.actions import IndexFile, Metadata, Protocol, SkipFile
from indextables.log.replay import Change
from indextables.log.state import PartitionBounds, StateManifest
from indextables.model import kernels as pc
from indextables.model.types import Struct

KeepManifest: TypeAlias = Callable[[Mapping[str, PartitionBounds]], bool]


class Base(Interface):
    """The checkpoint a snapshot starts from."""

    @property
    def state(self) -> StateManifest:
        """The content of the checkpoint."""

    @property
    def is_damaged(self) -> bool:
        """Whether it has been found to be unreadable."""

    def files(self, keep: KeepManifest | None) -> pa.Table:
        """Its live entries in the chosen manifests."""


@dataclass(frozen=True)
class Snapshot:
    """A consistent view of a table that never changes, whatever others commit."""

    path: str
    version: int
    timestamp_ms: int
    protocol: Protocol
    metadata: Metadata
    change: Change = field(repr=False)
    base: Base | None = field(default=None, repr=False)
    # the version of the state or JSON checkpoint it was replayed from, -1 without one
    checkpoint_version: int = field(default=-1, compare=False)
    # reloads the same version after a clean-up deleted its base
    reread: Callable[[], Snapshot] | None = field(default=None, repr=False, compare=False)
    _memo: dict[str, pa.Table] = field(default_factory=dict, repr=False, compare=False)

    @property
    def schema(self) -> Struct:
        """The columns of the table."""
        return self.metadata.schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns the table is partitioned by."""
        return self.metadata.partition_columns

    @property
    def base_version(self) -> int:
        """The version of the state it is based on, -1 without one."""
        return -1 if self.base is None else self.base.state.version

    @cached_property
    def registry(self) -> Mapping[str, str]:
        """Document mappings by hash."""
        kept = {} if self.base is None else registry.bare(self.base.state.schema_registry)
        return {**kept, **registry.from_configuration(self.metadata.configuration)}

    @property
    def txns(self) -> Mapping[str, int]:
        """The newest batch of each streaming query."""
        return {app: txn.version for app, txn in self.change.txns.items()}

    @property
    def hash_indexes(self) -> tuple[IndexFile, ...]:
        """The key hashes of each bucket of a table with a primary key."""
        return tuple(self.change.indexes.values())

    def skips(self, now_ms: int) -> Mapping[str, SkipFile]:
        """Splits to skip for now, by path."""
        return {
            path: skip
            for path, skip in self.change.skips.items()
            if skip.retry_after is not None and skip.retry_after > now_ms
        }

    def files(self, keep_manifest: KeepManifest | None = None) -> pa.Table:
        """The live splits. Manifests that `keep_manifest` rejects are not read.

        `keep_manifest` gets the bounds of the partition columns in a manifest, where known.
        """
        if keep_manifest is not None and not self.is_whole:
            return self._found(keep_manifest)
        # not a cached_property: until Python 3.12 all instances share the lock of one
        if "files" not in self._memo:
            self._memo["files"] = self._found(None)
        return self._memo["files"]

    @property
    def is_whole(self) -> bool:
        """Whether all live splits are loaded, or in so few manifests that pruning saves nothing."""
        return "files" in self._memo or self.base is None or len(self.base.state.manifests) <= 1

    def _found(self, keep: KeepManifest | None) -> pa.Table:
        try:
            return self._files(keep)
        except StorageError as cause:
            if cause.code != "FILE_MISSING" or self.reread is None:
                raise
            fresh = self.reread()
            if fresh.base_version == self.base_version:
                raise
            return fresh.files(keep)

    def _files(self, keep: KeepManifest | None) -> pa.Table:
        adds = self.change.adds
        if self.base is None:
            return adds.entries
        kept = without_paths(self.base.files(keep), self.change.removes.keys() | adds.paths)
        return entries.concat([kept, adds.entries]) if adds.paths else kept

    @property
    def num_files(self) -> int:
        """The number of live splits."""
        return int(self.files().num_rows)

    @property
    def size_bytes(self) -> int:
        """Bytes of all live splits."""
        return pc.sum(self.files()["size"]).as_py() or 0

    @property
    def num_records(self) -> int | None:
        """The number of rows, or None if a split does not record its own."""
        table = self.files()
        if table["numRecords"].null_count:
            return None
        deleted = pc.sum(pc.struct_field(table["deletionVector"], "cardinality")).as_py() or 0
        return (pc.sum(table["numRecords"]).as_py() or 0) - deleted


def without_paths(table: pa.Table, paths: frozenset[str] | set[str]) -> pa.Table:
    """The entries whose path is not among these."""
    if not paths:
        return table
    gone = pc.is_in(table["path"], value_set=entries.texts(paths))
    return table.filter(pc.invert(gone))
