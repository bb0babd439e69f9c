"""Write checkpoints: a state that shares manifests with the previous one, or a compacted one."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from indextables.config import log as keys
from indextables.config.settings import Settings
from indextables.engine.manifests import encode_manifest
from indextables.errors import StorageError, error
from indextables.log import codec, compaction, compression, entries, names, partitions, registry
from indextables.log.actions import Action, Metadata
from indextables.log.clock import Clock, backoff_seconds
from indextables.log.reading import Reader
from indextables.log.snapshot import Snapshot
from indextables.log.state import ManifestInfo, Pointer, StateManifest
from indextables.log.statefile import encode_pointer, encode_state
from indextables.model import kernels as pc

_log = logging.getLogger("indextables.log")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was written; `compacted` is the reason if everything was rewritten."""

    version: int
    num_files: int
    num_manifests: int
    compacted: str | None
    written: bool = True
    parts: int | None = None


class CheckpointWriter:
    """Writes the checkpoints of one table."""

    def __init__(self, reader: Reader, settings: Settings, clock: Clock) -> None:
        self._reader = reader
        self._store = reader.store
        self._clock = clock
        self._settings = settings
        self._limits = compaction.Limits.of(settings)
        self._codec = (
            settings.get(keys.STATE_COMPRESSION),
            settings.get(keys.STATE_COMPRESSION_LEVEL),
        )

    def write(self, snapshot: Snapshot, *, compact: str | None = None) -> Checkpoint:
        """Write the checkpoint of a snapshot; a reason to compact overrides the thresholds.

        Retries after reading the base again, because another writer may have written a newer one.
        """
        attempts = self._settings.get(keys.STATE_RETRY_MAX_ATTEMPTS)
        for attempt in range(attempts):
            try:
                return self._write(snapshot, compact)
            except StorageError:
                if attempt + 1 == attempts:
                    raise
                self._pause(attempt)
                snapshot = self._reader.load(snapshot.version)
        raise error("INTERNAL", detail="a state write ended without an outcome")

    def _write(self, snapshot: Snapshot, compact: str | None) -> Checkpoint:
        if self._settings.get(keys.STATE_FORMAT) == "json":
            return self._write_json(snapshot)
        newest = self._reader.newest_state(snapshot.version)
        if newest is not None and newest > snapshot.base_version:
            snapshot = self._reader.load(snapshot.version)
        if snapshot.base is not None and snapshot.base_version == snapshot.version:
            state, why = snapshot.base.state, None
        else:
            why = compact or compaction.reason(snapshot, self._limits)
            state = self._incremental(snapshot) if why is None else self._compacted(snapshot)
            self._put_state(state)
        self._point_to(_state_pointer(state))
        return Checkpoint(
            state.version, state.num_files, len(state.manifests), why, why is not None
        )

    def _put_state(self, state: StateManifest) -> None:
        # another writer's state of the same version has the same content
        self._store.put(
            names.state_file(state.version), encode_state(state, *self._codec), if_absent=True
        )

    def _incremental(self, snapshot: Snapshot) -> StateManifest:
        """The manifests of the base, and new ones with the added entries."""
        assert snapshot.base is not None
        base, change = snapshot.base.state, snapshot.change
        infos = list(base.manifests)
        table, mappings = _deduplicated(change.adds.entries, snapshot.registry)
        replaced = change.adds.paths & (change.removes.keys() | base.tombstones)
        for piece in _pieces(table, self._limits.entries_per_manifest):
            supersedes = len(replaced & set(piece["path"].to_pylist())) if replaced else 0
            infos.append(replace(self._put_manifest(snapshot, piece), supersedes=supersedes))
        tombstones = (base.tombstones | change.removes.keys()) - change.adds.paths
        total = base.total_bytes + self._bytes_changed(snapshot, table)
        return self._state(snapshot, infos, tombstones, mappings, total)

    def _bytes_changed(self, snapshot: Snapshot, added: pa.Table) -> int:
        removes = snapshot.change.removes.values()
        if None in removes:
            assert snapshot.base is not None
            return snapshot.size_bytes - snapshot.base.state.total_bytes
        gone = sum(size or 0 for size in removes)
        return (pc.sum(added["size"]).as_py() or 0) - gone

    def _compacted(self, snapshot: Snapshot) -> StateManifest:
        """All live entries, and only these, in new manifests sorted by partition."""
        table, mappings = _deduplicated(snapshot.files(), snapshot.registry)
        refs = set(pc.unique(table["docMappingRef"]).to_pylist()) - {None}
        if len(refs) > self._limits.renormalize_above:
            table, mappings = _renormalized(table, mappings, refs)
        columns = snapshot.partition_columns
        table = partitions.sorted_by_partition(table, snapshot.schema, columns)
        step = compaction.entries_per_manifest(table.num_rows, bool(columns), self._limits)
        infos = [self._put_manifest(snapshot, piece) for piece in _pieces(table, step)]
        total = pc.sum(table["size"]).as_py() or 0
        return self._state(snapshot, infos, frozenset(), mappings, total)

    def _put_manifest(self, snapshot: Snapshot, table: pa.Table) -> ManifestInfo:
        listed = f"manifests/manifest-{uuid.uuid4().hex[:16]}.avro"
        self._store.put(
            f"{names.FOLDER}/{listed}", encode_manifest(table, *self._codec), if_absent=True
        )
        lowest, highest = pc.min_max(table["addedAtVersion"]).values()
        columns = snapshot.partition_columns
        bounds = partitions.bounds(table, snapshot.schema, columns) if columns else None
        return ManifestInfo(listed, table.num_rows, lowest.as_py(), highest.as_py(), bounds)

    def _state(
        self,
        snapshot: Snapshot,
        infos: list[ManifestInfo],
        tombstones: frozenset[str],
        mappings: Mapping[str, str],
        total_bytes: int,
    ) -> StateManifest:
        metadata = _with_mappings(snapshot.metadata, mappings)
        listed = sum(info.num_entries - info.supersedes for info in infos)
        return StateManifest(
            version=snapshot.version,
            created_at=max(self._clock.now_ms(), snapshot.timestamp_ms),
            num_files=listed - len(tombstones),
            total_bytes=total_bytes,
            manifests=tuple(infos),
            tombstones=tombstones,
            schema_registry=dict(mappings),
            protocol_version=snapshot.protocol.min_reader_version,
            metadata=json.dumps(codec.encode_action(metadata), ensure_ascii=False),
            actions=kept_actions(snapshot),
        )

    def _write_json(self, snapshot: Snapshot) -> Checkpoint:
        """The older format: every action that still matters, in one or more files."""
        table = snapshot.files()
        metadata = _with_mappings(snapshot.metadata, snapshot.registry)
        head = [snapshot.protocol, metadata, *kept_actions(snapshot)[1:]]
        adds: list[Action] = list(entries.to_adds(table))
        step = self._settings.get(keys.ENTRIES_PER_MANIFEST)
        path = names.checkpoint_file(snapshot.version)
        parts: int | None = None
        identity: str | None = None
        if len(adds) <= step:
            data = compression.deflate(codec.encode_actions([*head, *adds]))
        else:
            identity = str(uuid.uuid4())
            pieces = [head, *(adds[start : start + step] for start in range(0, len(adds), step))]
            parts = len(pieces)
            data = self._put_parts(snapshot.version, identity, pieces)
        self._store.put(path, data, if_absent=True)
        self._point_to(
            Pointer(
                snapshot.version,
                size=len(head) + len(adds),
                size_in_bytes=snapshot.size_bytes,
                num_files=len(adds),
                created_time=self._clock.now_ms(),
                format="json" if parts is None else "json-multipart",
                parts=parts,
                checkpoint_id=identity,
            )
        )
        return Checkpoint(snapshot.version, len(adds), parts or 1, "format json", parts=parts)

    def _put_parts(self, version: int, identity: str, pieces: list[list[Action]]) -> bytes:
        listed = [
            names.part_name(version, identity, number) for number in range(1, len(pieces) + 1)
        ]
        for name, piece in zip(listed, pieces, strict=True):
            data = compression.deflate(codec.encode_actions(piece))
            self._store.put(f"{names.FOLDER}/{name}", data, if_absent=True)
        head = {
            "version": version,
            "checkpointId": identity,
            "parts": listed,
            "createdTime": self._clock.now_ms(),
            "format": "json",
        }
        return json.dumps(head).encode()

    def _point_to(self, pointer: Pointer) -> None:
        """Move `_last_checkpoint` forward, or to the other format of the same version.

        It is only a hint, so a race that moves it back is harmless.
        """
        held = self._reader.pointer()
        mine = (pointer.version, pointer.format)
        if held is None or (
            held.version <= pointer.version and (held.version, held.format) != mine
        ):
            self._store.put(names.POINTER, encode_pointer(pointer))

    def _pause(self, attempt: int) -> None:
        base = self._settings.get(keys.STATE_RETRY_BASE_DELAY_MS)
        most = self._settings.get(keys.STATE_RETRY_MAX_DELAY_MS)
        self._clock.sleep(backoff_seconds(attempt, base, most, self._clock.jitter()))


def kept_actions(snapshot: Snapshot) -> tuple[Action, ...]:
    """The actions a checkpoint needs besides files and metadata; the protocol comes first."""
    change = snapshot.change
    return (
        snapshot.protocol,
        *change.txns.values(),
        *change.skips.values(),
        *change.indexes.values(),
        *change.unknown,
    )


def _with_mappings(metadata: Metadata, mappings: Mapping[str, str]) -> Metadata:
    """The metadata with the document mappings that a state may keep apart from it."""
    configuration = registry.configured(metadata.configuration, mappings)
    return replace(metadata, configuration=configuration)


def _pieces(table: pa.Table, step: int) -> list[pa.Table]:
    return [table.slice(start, step) for start in range(0, table.num_rows, step)]


def _state_pointer(state: StateManifest) -> Pointer:
    return Pointer(
        state.version,
        size=state.num_files,
        size_in_bytes=state.total_bytes,
        num_files=state.num_files,
        created_time=state.created_at,
        format="avro-state",
        state_dir=names.state_name(state.version),
    )


def _deduplicated(table: pa.Table, known: Mapping[str, str]) -> tuple[pa.Table, Mapping[str, str]]:
    """Move document mappings from the entries into the registry."""
    inline = table["docMappingJson"]
    if inline.null_count == len(inline):
        return table, known
    texts = [text for text in pc.unique(inline).to_pylist() if text is not None]
    hashes = [registry.schema_hash(text) for text in texts]
    position = pc.index_in(inline, value_set=pa.array(texts, pa.string()))
    refs = pc.take(pa.array(hashes, pa.string()), position)
    refs = pc.coalesce(refs, table["docMappingRef"])
    table = _with_column(table, "docMappingRef", refs)
    table = _with_column(table, "docMappingJson", pa.nulls(table.num_rows, pa.string()))
    return table, {**dict(zip(hashes, texts, strict=True)), **known}


def _renormalized(
    table: pa.Table, known: Mapping[str, str], refs: set[str]
) -> tuple[pa.Table, Mapping[str, str]]:
    """Replace references by canonical hashes. Old names stay known: a commit may use them."""
    renamed = registry.renormalized(known, refs)
    if not renamed:
        return table, known
    olds = pa.array(list(renamed), pa.string())
    position = pc.index_in(table["docMappingRef"], value_set=olds)
    news = pc.take(pa.array(list(renamed.values()), pa.string()), position)
    table = _with_column(table, "docMappingRef", pc.coalesce(news, table["docMappingRef"]))
    return table, {**known, **{new: known[old] for old, new in renamed.items()}}


def _with_column(table: pa.Table, name: str, values: pa.ChunkedArray | pa.Array) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)
