"""State manifests and `_last_checkpoint` to and from bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from indextables.engine.manifests import decode_state_manifest, encode_state_manifest
from indextables.errors import IndexTablesError, error
from indextables.log import codec, names
from indextables.log import json_values as read
from indextables.log.actions import JsonObject
from indextables.log.compression import MAX_INFLATED, inflate
from indextables.log.state import (
    FORMAT_VERSION,
    ManifestInfo,
    PartitionBounds,
    Pointer,
    StateManifest,
)
from indextables.storage.store import check_path


def encode_state(state: StateManifest, compression: str, level: int) -> bytes:
    """The bytes of `_manifest.avro`."""
    value = {
        "formatVersion": state.format_version,
        "stateVersion": state.version,
        "createdAt": state.created_at,
        "numFiles": state.num_files,
        "totalBytes": state.total_bytes,
        "manifests": [_encode_info(info) for info in state.manifests],
        "tombstones": sorted(state.tombstones),
        "schemaRegistry": dict(state.schema_registry),
        "protocolVersion": state.protocol_version,
        "metadata": state.metadata,
        "actions": [codec.encode_line(action) for action in state.actions],
    }
    return encode_state_manifest(value, compression, level)


def decode_state(data: bytes, path: str) -> StateManifest:
    """The state in a `_manifest.avro`."""
    return _state(decode_state_manifest(data, path), path)


def decode_state_json(data: bytes, path: str, limit: int = MAX_INFLATED) -> StateManifest:
    """The state in a `_manifest.json`, as an older edition of the protocol names it."""
    try:
        value = read.parse(inflate(data, path, limit).decode())
    except (ValueError, RecursionError) as cause:
        raise error("FILE_CORRUPT", path=path, detail=str(cause)) from None
    return _state(value, path)


def _state(value: Any, path: str) -> StateManifest:
    try:
        if value["formatVersion"] != FORMAT_VERSION:
            needs = f"state format {value['formatVersion']}, this reads {FORMAT_VERSION}"
            raise error("PROTOCOL_UNSUPPORTED", path=path, needs=needs)
        return StateManifest(
            version=read.whole(value["stateVersion"]),
            created_at=read.timestamp(value["createdAt"]),
            num_files=read.whole(value["numFiles"]),
            total_bytes=read.whole(value["totalBytes"]),
            manifests=tuple(_info(each) for each in value["manifests"]),
            tombstones=frozenset(read.texts(value.get("tombstones") or [])),
            schema_registry=read.text_map(value.get("schemaRegistry") or {}),
            protocol_version=read.small(value.get("protocolVersion", 4)),
            metadata=value.get("metadata"),
            actions=tuple(_actions(value.get("actions") or (), path)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        raise error("FILE_CORRUPT", path=path, detail=f"{type(cause).__name__}: {cause}") from None


def _actions(lines: Iterable[str], path: str) -> Iterable[Any]:
    for line in lines:
        yield from codec.decode_actions(line.encode(), path)


def _info(value: Mapping[str, Any]) -> ManifestInfo:
    bounds = value.get("partitionBounds")
    return ManifestInfo(
        path=check_path(read.text(value["path"])),
        num_entries=read.whole(value["numEntries"]),
        min_added_at_version=read.whole(value.get("minAddedAtVersion") or 0),
        max_added_at_version=read.whole(value.get("maxAddedAtVersion") or 0),
        partition_bounds=None
        if bounds is None
        else {name: _bounds(read.text_map(ends)) for name, ends in bounds.items()},
        tombstone_count=read.whole(value.get("tombstoneCount") or 0),
        live_entry_count=read.whole(value.get("liveEntryCount", -1)),
        supersedes=read.whole(value.get("supersedes") or 0),
    )


def _bounds(ends: Mapping[str, str]) -> PartitionBounds:
    return PartitionBounds(ends.get("min"), ends.get("max"))


def _encode_info(info: ManifestInfo) -> JsonObject:
    bounds = info.partition_bounds
    return {
        "path": info.path,
        "numEntries": info.num_entries,
        "minAddedAtVersion": info.min_added_at_version,
        "maxAddedAtVersion": info.max_added_at_version,
        "partitionBounds": None
        if bounds is None
        else {k: {"min": v.min, "max": v.max} for k, v in bounds.items()},
        "tombstoneCount": info.tombstone_count,
        "liveEntryCount": info.live_entry_count,
        "supersedes": info.supersedes,
    }


def encode_pointer(pointer: Pointer) -> bytes:
    """The bytes of `_last_checkpoint`."""
    value = {
        "version": pointer.version,
        "size": pointer.size,
        "sizeInBytes": pointer.size_in_bytes,
        "numFiles": pointer.num_files,
        "createdTime": pointer.created_time,
        "parts": pointer.parts,
        "checkpointId": pointer.checkpoint_id,
        "format": pointer.format,
        "stateDir": pointer.state_dir,
    }
    return json.dumps({k: v for k, v in value.items() if v is not None}).encode()


def decode_pointer(data: bytes) -> Pointer:
    """The content of `_last_checkpoint`; CorruptError if it is damaged."""
    try:
        value = read.members(read.parse(data.decode()))
        folder, parts, identity = (value.get(k) for k in ("stateDir", "parts", "checkpointId"))
        return Pointer(
            version=read.natural(value["version"]),
            size=read.whole(value.get("size") or 0),
            size_in_bytes=read.whole(value.get("sizeInBytes") or 0),
            num_files=read.whole(value.get("numFiles") or 0),
            created_time=read.whole(value.get("createdTime") or 0),
            format=value.get("format"),
            state_dir=None if folder is None else check_path(read.text(folder)),
            parts=None if parts is None else read.whole(parts),
            checkpoint_id=None if identity is None else read.text(identity),
        )
    except (KeyError, TypeError, ValueError, RecursionError, IndexTablesError) as cause:
        raise error("FILE_CORRUPT", path=names.POINTER, detail=repr(cause)) from None
