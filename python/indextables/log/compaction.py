"""Decide when a checkpoint rewrites everything instead of adding a manifest. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from indextables.config import log as keys
from indextables.config.settings import Settings
from indextables.log import protocol, registry
from indextables.log.snapshot import Snapshot
from indextables.log.state import StateManifest

_LEAST_ENTRIES = 1000  # smaller manifests cost more requests than they save


@dataclass(frozen=True)
class Limits:
    """The thresholds in force."""

    tombstone_ratio: float
    max_manifests: int
    large_remove: int
    entries_per_manifest: int
    renormalize_above: int

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The thresholds of these settings."""
        return cls(
            settings.get(keys.TOMBSTONE_THRESHOLD),
            settings.get(keys.MAX_MANIFESTS),
            settings.get(keys.LARGE_REMOVE_THRESHOLD),
            settings.get(keys.ENTRIES_PER_MANIFEST),
            settings.get(keys.RENORMALIZE_THRESHOLD),
        )


def entries_per_manifest(entries: int, partitioned: bool, limits: Limits) -> int:  # noqa: FBT001
    """How many entries a compacted manifest gets.

    Manifests of a partitioned table are smaller than the limit, so that a query of one partition
    reads few entries; their number stays below half of what would trigger compaction again.
    """
    if not partitioned:
        return limits.entries_per_manifest
    pieces = max(1, limits.max_manifests // 2)
    return min(limits.entries_per_manifest, max(_LEAST_ENTRIES, -(-entries // pieces)))


def dead_entries(state: StateManifest) -> int:
    """Entries of a state's manifests that are not live."""
    return len(state.tombstones) + sum(info.supersedes for info in state.manifests)


def tombstone_ratio(state: StateManifest) -> float:
    """The share of entries that are not live."""
    entries = sum(info.num_entries for info in state.manifests)
    return dead_entries(state) / entries if entries else 0.0


def reason(snapshot: Snapshot, limits: Limits) -> str | None:
    """Why a checkpoint of this snapshot must write everything, or None if the change is enough."""
    if snapshot.base is None:
        return "there is no state yet"
    state, change = snapshot.base.state, snapshot.change
    if snapshot.base.is_damaged:
        return "a manifest of the last state cannot be read"
    if not change.ours:
        return "another implementation wrote since the last state"
    replaced = change.adds.paths & (change.removes.keys() | state.tombstones)
    superseded = any(info.supersedes for info in state.manifests)
    old = snapshot.protocol.min_reader_version < protocol.VERSION_WITH_FEATURES
    if old and (replaced or superseded):
        return "a path is listed twice, which other readers do not expect"
    removed = len(change.removes.keys() - change.adds.paths)
    if removed > limits.large_remove:
        return f"{removed} removals at once"
    return crowded(state, len(change.removes), bool(change.adds.paths), limits) or _mixed(
        snapshot, limits
    )


def crowded(state: StateManifest, removed: int, added: bool, limits: Limits) -> str | None:  # noqa: FBT001
    """Why a state with so many more removals, and perhaps one more manifest, must be compacted."""
    entries = sum(info.num_entries for info in state.manifests)
    dead = dead_entries(state) + removed
    # decimals, exactly as the setting is written: as floats, 29 is more than 0.29 * 100
    if dead > Fraction(str(limits.tombstone_ratio)) * entries:
        return f"{dead} of {entries} entries are gone"
    count = len(state.manifests) + added
    # a state of very many splits has many manifests however well they are packed
    packed = -(-entries // limits.entries_per_manifest)
    if count > max(limits.max_manifests, 2 * packed):
        return f"{count} manifests"
    return None


def _mixed(snapshot: Snapshot, limits: Limits) -> str | None:
    known = snapshot.registry
    if len(known) <= limits.renormalize_above:
        return None
    renamed = registry.renormalized(known, known)
    return f"{len(renamed)} mappings with other than canonical hashes" if renamed else None
