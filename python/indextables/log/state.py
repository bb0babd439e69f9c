"""The state of a table at one version: which manifests hold its entries. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from indextables.log.actions import Action

FORMAT_VERSION = 1


@dataclass(frozen=True)
class PartitionBounds:
    """Smallest and largest value of a partition column in a manifest; None is unknown."""

    min: str | None = None
    max: str | None = None


@dataclass(frozen=True)
class ManifestInfo:
    """One manifest of a state.

    `path` is relative to the log. `supersedes` (protocol 5) is how many of its entries replace
    entries of the same path in manifests before it.
    """

    path: str
    num_entries: int
    min_added_at_version: int = 0
    max_added_at_version: int = 0
    partition_bounds: Mapping[str, PartitionBounds] | None = None
    tombstone_count: int = 0
    live_entry_count: int = -1
    supersedes: int = 0


@dataclass(frozen=True)
class StateManifest:
    """A checkpoint: the manifests, the removed entries in them, and the other facts of the table.

    `actions` (ours) keeps what the state has no field for: protocol features, streaming
    transactions, skips, actions of unknown kind.
    """

    version: int
    created_at: int
    num_files: int
    total_bytes: int
    manifests: tuple[ManifestInfo, ...] = ()
    tombstones: frozenset[str] = frozenset()
    schema_registry: Mapping[str, str] = field(default_factory=dict)
    protocol_version: int = 4
    metadata: str | None = None
    actions: tuple[Action, ...] = ()
    format_version: int = FORMAT_VERSION
    # where it was read from, for error messages
    file: str = field(default="", compare=False)


@dataclass(frozen=True)
class Pointer:
    """The content of `_last_checkpoint`."""

    version: int
    size: int = 0
    size_in_bytes: int = 0
    num_files: int = 0
    created_time: int = 0
    format: str | None = None
    state_dir: str | None = None
    parts: int | None = None
    checkpoint_id: str | None = None
