"""Actions to and from the bytes of version files and JSON checkpoints.

Readers accept plain text, gzip, and gzip behind two bytes; explicit nulls or absent fields.
Whatever is wrong with the bytes ends in one error that names the file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from indextables.errors import IndexTablesError, error
from indextables.log import json_values as read
from indextables.log.actions import (
    Action,
    AddFile,
    CommitInfo,
    DeletionVector,
    IndexFile,
    JsonObject,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
)
from indextables.log.partitions import without_nulls
from indextables.storage.store import check_path

_GZIP = b"\x1f\x8b"
_MAX_INFLATED = 512 << 20
_SEAL = b'"checksum":"'
_UNSEALED = "0" * 8

# JSON name -> attribute, in the order they are written
_ADD = {
    "path": "path",
    "partitionValues": "partition_values",
    "size": "size",
    "modificationTime": "modification_time",
    "dataChange": "data_change",
    "stats": "stats",
    "minValues": "min_values",
    "maxValues": "max_values",
    "numRecords": "num_records",
    "footerStartOffset": "footer_start_offset",
    "footerEndOffset": "footer_end_offset",
    "hasFooterOffsets": "has_footer_offsets",
    "deleteOpstamp": "delete_opstamp",
    "splitTags": "split_tags",
    "numMergeOps": "num_merge_ops",
    "docMappingJson": "doc_mapping_json",
    "docMappingRef": "doc_mapping_ref",
    "uncompressedSizeBytes": "uncompressed_size_bytes",
    "timeRangeStart": "time_range_start",
    "timeRangeEnd": "time_range_end",
    "companionSourceFiles": "companion_source_files",
    "companionDeltaVersion": "companion_delta_version",
    "companionFastFieldMode": "companion_fast_field_mode",
    "deletionVector": "deletion_vector",
}
_REMOVE = {
    "path": "path",
    "deletionTimestamp": "deletion_timestamp",
    "dataChange": "data_change",
    "partitionValues": "partition_values",
    "size": "size",
}
_SKIP = {
    "path": "path",
    "skipTimestamp": "skip_timestamp",
    "reason": "reason",
    "operation": "operation",
    "partitionValues": "partition_values",
    "size": "size",
    "retryAfter": "retry_after",
    "skipCount": "skip_count",
}
_INDEX = {
    "type": "type",
    "partitionValues": "partition_values",
    "bucket": "bucket",
    "file": "file",
    "size": "size",
    "rowCount": "row_count",
}
_TXN = {"appId": "app_id", "version": "version", "lastUpdated": "last_updated"}
_INFO = {
    "id": "id",
    "timestamp": "timestamp",
    "operation": "operation",
    "operationParameters": "parameters",
    "operationMetrics": "metrics",
    "engineInfo": "engine_info",
    "readVersion": "read_version",
    "isBlindAppend": "is_blind_append",
    "userMetadata": "user_metadata",
}


def inflate(data: bytes, file: str) -> bytes:
    """The text of a version file, whatever its compression."""
    if data[:2] == _GZIP:
        start = 0
    elif data[2:4] == _GZIP:
        start = 2
    else:
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(data[start:], _MAX_INFLATED)
        if stream.unconsumed_tail:
            raise _corrupt(file, f"more than {_MAX_INFLATED >> 20} MB of text")
        text += stream.flush()
    except zlib.error as cause:
        raise _corrupt(file, f"gzip: {cause}") from None
    if not stream.eof:
        raise _corrupt(file, "the gzip stream is cut short")
    if stream.unused_data:
        raise _corrupt(file, "bytes after the gzip stream")
    return text


def deflate(text: bytes) -> bytes:
    """Gzip without a time stamp: equal text gives equal bytes."""
    stream = zlib.compressobj(6, zlib.DEFLATED, 31)
    return stream.compress(text) + stream.flush()


def encode_version(info: CommitInfo, actions: Iterable[Action]) -> bytes:
    """The text of a version file: its first line carries a checksum of the whole text.

    Gzip has a checksum of its own; plain text and copies of it have none.
    """
    sealed = replace(info, extra={**info.extra, "checksum": _UNSEALED})
    text = encode_actions([sealed, *actions])
    start = text.index(_SEAL) + len(_SEAL)
    checksum = f"{zlib.crc32(text):08x}".encode()
    return text[:start] + checksum + text[start + len(checksum) :]


def _check_seal(text: bytes, file: str) -> None:
    end = text.find(b"\n")
    found = text.find(_SEAL, 0, end if end >= 0 else len(text))
    if found < 0:
        return
    start = found + len(_SEAL)
    end = start + len(_UNSEALED)
    unsealed = text[:start] + _UNSEALED.encode() + text[end:]
    if text[start:end] != f"{zlib.crc32(unsealed):08x}".encode():
        raise _corrupt(file, "its checksum does not match")


def decode_parts(data: bytes, file: str) -> list[str] | None:
    """The names of the parts, if this is the head of a JSON checkpoint of several parts."""
    text = inflate(data, file)
    if b'"checkpointId"' not in text[:4096]:
        return None
    try:
        value = json.loads(text)
        return [check_path(read.text(part)) for part in value["parts"]]
    except (ValueError, KeyError, TypeError, RecursionError) as cause:
        raise _corrupt(file, f"head of a checkpoint: {cause}") from None


def decode_actions(data: bytes, file: str, *, whole: bool = True) -> list[Action]:
    """All actions of a version file or checkpoint, in order.

    A file without any action is an error, because no writer leaves one behind, and a cut file must
    not look like an empty commit.
    """
    text = inflate(data, file)
    _check_seal(text, file)
    try:
        lines = text.decode().split("\n")
    except UnicodeDecodeError as cause:
        raise _corrupt(file, str(cause)) from None
    actions = [
        _decode_line(line, number, file) for number, line in enumerate(lines, 1) if line.strip()
    ]
    if whole and not actions:
        raise _corrupt(file, "no action in it")
    return actions


def _decode_line(line: str, number: int, file: str) -> Action:
    try:
        value = json.loads(line)
        if not isinstance(value, dict) or len(value) != 1:
            raise _corrupt(file, f"line {number} is not an object with one member")
        ((kind, body),) = value.items()
        decoder = _DECODERS.get(kind)
        if decoder is None:
            return UnknownAction(kind, body)
        if not isinstance(body, dict):
            raise _corrupt(file, f"line {number}: `{kind}` is not an object")
        return decoder(body)
    except IndexTablesError as failure:
        if failure.code == "FILE_CORRUPT":
            raise
        raise _corrupt(file, f"line {number}: {failure.message}") from None
    except KeyError as cause:
        raise _corrupt(file, f"line {number}: `{cause.args[0]}` is missing") from None
    except (ValueError, TypeError, RecursionError) as cause:
        raise _corrupt(file, f"line {number}: {cause}") from None


def decode_metadata(text: str, file: str) -> Metadata:
    """The metadata a state carries, wrapped as an action or bare."""
    try:
        value = json.loads(text)
        return _metadata(value.get("metaData", value))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
        raise _corrupt(file, f"metadata: {cause}") from None


def encode_actions(actions: Iterable[Action]) -> bytes:
    """One line per action, uncompressed."""
    return "".join(
        json.dumps(encode_action(action), separators=(",", ":"), ensure_ascii=False) + "\n"
        for action in actions
    ).encode()


def encode_action(action: Action) -> JsonObject:
    """The JSON value of an action: one member, named by its kind. Absent values are left out."""
    if isinstance(action, UnknownAction):
        return {action.kind: action.value}
    kind, encode = _ENCODERS[type(action)]
    return {kind: {k: v for k, v in encode(action).items() if v is not None} | dict(action.extra)}


def _protocol(body: JsonObject) -> Protocol:
    known = ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures")
    return Protocol(
        read.whole(body["minReaderVersion"]),
        read.whole(body["minWriterVersion"]),
        frozenset(read.texts(body.get("readerFeatures")) or ()),
        frozenset(read.texts(body.get("writerFeatures")) or ()),
        _rest(body, known),
    )


def _encode_protocol(action: Protocol) -> JsonObject:
    return {
        "minReaderVersion": action.min_reader_version,
        "minWriterVersion": action.min_writer_version,
        "readerFeatures": sorted(action.reader_features) or None,
        "writerFeatures": sorted(action.writer_features) or None,
    }


def _metadata(body: JsonObject) -> Metadata:
    known = ("id", "name", "description", "format", "schemaString")
    more = ("partitionColumns", "configuration", "createdTime")
    form = body.get("format") or {}
    return Metadata(
        id=read.text(body["id"]),
        schema_string=read.text(body["schemaString"]),
        partition_columns=read.texts(body.get("partitionColumns")) or (),
        configuration=read.text_map(body.get("configuration")) or {},
        name=read.optional(read.text, body.get("name")),
        description=read.optional(read.text, body.get("description")),
        provider=read.text(form.get("provider") or "indextables"),
        format_options=read.text_map(form.get("options")) or {},
        created_time=read.optional(read.whole, body.get("createdTime")),
        extra=_rest(body, (*known, *more)),
    )


def _encode_metadata(action: Metadata) -> JsonObject:
    return {
        "id": action.id,
        "name": action.name,
        "description": action.description,
        "format": {"provider": action.provider, "options": dict(action.format_options)},
        "schemaString": action.schema_string,
        "partitionColumns": list(action.partition_columns),
        "configuration": dict(action.configuration),
        "createdTime": action.created_time,
    }


def _add(body: JsonObject) -> AddFile:
    start, end = body.get("footerStartOffset"), body.get("footerEndOffset")
    has_footer = body.get("hasFooterOffsets")
    return AddFile(
        path=check_path(read.text(body["path"])),
        partition_values=without_nulls(read.nullable_map(body.get("partitionValues"))),
        size=read.whole(body["size"]),
        modification_time=read.whole(body["modificationTime"]),
        data_change=read.truth(body.get("dataChange"), default=True),
        stats=read.optional(read.text, body.get("stats")),
        min_values=read.text_map(body.get("minValues")),
        max_values=read.text_map(body.get("maxValues")),
        num_records=read.optional(read.whole, body.get("numRecords")),
        footer_start_offset=read.optional(read.whole, start),
        footer_end_offset=read.optional(read.whole, end),
        has_footer_offsets=read.truth(has_footer, default=bool(start is not None and end)),
        delete_opstamp=read.optional(read.whole, body.get("deleteOpstamp")),
        split_tags=read.texts(body.get("splitTags")),
        num_merge_ops=read.optional(read.whole, body.get("numMergeOps")),
        doc_mapping_json=read.optional(read.text, body.get("docMappingJson")),
        doc_mapping_ref=read.optional(read.text, body.get("docMappingRef")),
        uncompressed_size_bytes=read.optional(read.whole, body.get("uncompressedSizeBytes")),
        time_range_start=read.optional(str, body.get("timeRangeStart")),
        time_range_end=read.optional(str, body.get("timeRangeEnd")),
        companion_source_files=read.texts(body.get("companionSourceFiles")),
        companion_delta_version=read.optional(read.whole, body.get("companionDeltaVersion")),
        companion_fast_field_mode=read.optional(read.text, body.get("companionFastFieldMode")),
        deletion_vector=read.optional(_vector, body.get("deletionVector")),
        extra=_rest(body, _ADD),
    )


def _encode_add(action: AddFile) -> JsonObject:
    value = {name: getattr(action, attribute) for name, attribute in _ADD.items()}
    value["partitionValues"] = dict(action.partition_values)
    if action.deletion_vector is not None:
        value["deletionVector"] = encode_vector(action.deletion_vector)
    return value


def encode_vector(vector: DeletionVector) -> JsonObject:
    """The JSON value of a deletion vector's place."""
    return {
        "file": vector.file,
        "offset": vector.offset,
        "length": vector.length,
        "cardinality": vector.cardinality,
    }


def _vector(body: Any) -> DeletionVector:
    return DeletionVector(
        check_path(read.text(body["file"])),
        read.whole(body["offset"]),
        read.whole(body["length"]),
        read.whole(body["cardinality"]),
    )


def _remove(body: JsonObject) -> RemoveFile:
    values = body.get("partitionValues")
    return RemoveFile(
        path=check_path(read.text(body["path"])),
        deletion_timestamp=read.optional(read.whole, body.get("deletionTimestamp")),
        data_change=read.truth(body.get("dataChange"), default=True),
        partition_values=None if values is None else without_nulls(read.nullable_map(values)),
        size=read.optional(read.whole, body.get("size")),
        extra=_rest(body, _REMOVE),
    )


def _skip(body: JsonObject) -> SkipFile:
    values = body.get("partitionValues")
    return SkipFile(
        path=check_path(read.text(body["path"])),
        skip_timestamp=read.whole(body["skipTimestamp"]),
        reason=read.text(body["reason"]),
        operation=read.text(body["operation"]),
        retry_after=read.optional(read.whole, body.get("retryAfter")),
        skip_count=read.whole(body.get("skipCount", 1)),
        partition_values=None if values is None else without_nulls(read.nullable_map(values)),
        size=read.optional(read.whole, body.get("size")),
        extra=_rest(body, _SKIP),
    )


def _index(body: JsonObject) -> IndexFile:
    return IndexFile(
        partition_values=without_nulls(read.nullable_map(body.get("partitionValues"))),
        bucket=read.whole(body["bucket"]),
        file=read.optional(check_path, body.get("file")),
        size=read.optional(read.whole, body.get("size")),
        row_count=read.optional(read.whole, body.get("rowCount")),
        type=read.text(body.get("type", "HASH")),
        extra=_rest(body, _INDEX),
    )


def _txn(body: JsonObject) -> Txn:
    return Txn(
        read.text(body["appId"]),
        read.whole(body["version"]),
        read.optional(read.whole, body.get("lastUpdated")),
        _rest(body, _TXN),
    )


def _info(body: JsonObject) -> CommitInfo:
    return CommitInfo(
        id=read.optional(read.text, body.get("id")),
        timestamp=read.whole(body.get("timestamp", 0)),
        operation=read.text(body.get("operation", "UNKNOWN")),
        parameters=body.get("operationParameters") or {},
        metrics=body.get("operationMetrics") or {},
        engine_info=read.optional(read.text, body.get("engineInfo")),
        read_version=read.optional(read.whole, body.get("readVersion")),
        is_blind_append=body.get("isBlindAppend"),
        user_metadata=read.optional(read.text, body.get("userMetadata")),
        extra=_rest(body, _INFO),
    )


def _by_names(names: Mapping[str, str]) -> Callable[[Any], JsonObject]:
    return lambda action: {name: getattr(action, attr) for name, attr in names.items()}


_DECODERS: dict[str, Callable[[JsonObject], Action]] = {
    "protocol": _protocol,
    "metaData": _metadata,
    "add": _add,
    "remove": _remove,
    "mergeskip": _skip,
    "skip": _skip,
    "indexFile": _index,
    "txn": _txn,
    "commitInfo": _info,
}
_ENCODERS: dict[type[Any], tuple[str, Callable[[Any], JsonObject]]] = {
    Protocol: ("protocol", _encode_protocol),
    Metadata: ("metaData", _encode_metadata),
    AddFile: ("add", _encode_add),
    RemoveFile: ("remove", _by_names(_REMOVE)),
    SkipFile: ("mergeskip", _by_names(_SKIP)),
    IndexFile: ("indexFile", _by_names(_INDEX)),
    Txn: ("txn", _by_names(_TXN)),
    CommitInfo: ("commitInfo", _by_names(_INFO)),
}


def _corrupt(file: str, detail: str) -> IndexTablesError:
    return error("FILE_CORRUPT", path=file, detail=detail)


def _rest(body: JsonObject, known: Iterable[str]) -> JsonObject:
    names = known if isinstance(known, Mapping) else set(known)
    return {k: v for k, v in body.items() if k not in names and v is not None}
