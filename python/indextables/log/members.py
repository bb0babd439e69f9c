"""The members of every action: one table from which reading, writing and describing derive.

A member has its name in JSON (and in Avro entries), the attribute that holds it, a kind that says
how it is read, stored and shown, and the column of DESCRIBE TRANSACTION LOG that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any

import pyarrow as pa

from indextables.log import json_values as read
from indextables.log.actions import (
    AddFile,
    CommitInfo,
    CompanionRun,
    DeletionVector,
    IndexFile,
    JsonObject,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
)
from indextables.log.partitions import without_nulls
from indextables.storage.store import check_path

# what DESCRIBE TRANSACTION LOG calls actions without columns of their own
NOT_SHOWN = "unknown"


def _same(value: Any) -> Any:
    return value


_TEXT = pa.string()


@dataclass(frozen=True)
class Kind:
    """How a member is read from JSON, written to JSON, and typed in Arrow.

    Values of the `plain` type need no reading.
    """

    read: Callable[[Any], Any]
    arrow: pa.DataType = _TEXT
    write: Callable[[Any], Any] = _same
    plain: type | None = None


def _path(value: Any) -> str:
    return check_path(read.text(value))


def _values(value: Any) -> dict[str, str]:
    return without_nulls(read.text_map(value))


def _vector(value: Any) -> DeletionVector:
    body = read.members(value)
    return DeletionVector(
        _path(body["file"]),
        *(read.whole(body[name]) for name in ("offset", "length", "cardinality")),
    )


def _vector_json(vector: DeletionVector) -> JsonObject:
    return {field.name: getattr(vector, field.name) for field in fields(vector)}


def _runs(value: Any) -> tuple[CompanionRun, ...]:
    if not isinstance(value, list):
        raise TypeError("`companionRuns` is not a list")
    return tuple(_run(read.members(body)) for body in value)


def _run(body: JsonObject) -> CompanionRun:
    stamp = body.get("stamp")
    file, row, rows, file_rows, size = (read.whole(body[name]) for name in _RUN_NUMBERS)
    return CompanionRun(
        file, row, rows, file_rows, size, None if stamp is None else read.text(stamp)
    )


def _run_json(run: CompanionRun) -> JsonObject:
    numbers = (run.file, run.row, run.rows, run.file_rows, run.size)
    body: JsonObject = dict(zip(_RUN_NUMBERS, numbers, strict=True))
    return body if run.stamp is None else body | {"stamp": run.stamp}


_RUN_NUMBERS = ("file", "row", "rows", "fileRows", "size")
_RUNS = pa.list_(
    pa.field(
        "item",
        pa.struct(
            [pa.field(name, pa.int64()) for name in _RUN_NUMBERS] + [pa.field("stamp", pa.string())]
        ),
    )
)
_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [pa.field("file", pa.string())]
    + [pa.field(name, pa.int64()) for name in ("offset", "length", "cardinality")]
)

TEXT = Kind(read.text, plain=str)
# a string that some writers store as a number
SPELLED = Kind(str, plain=str)
PATH = Kind(_path)
LONG = Kind(read.whole, pa.int64())
INT = Kind(read.small, pa.int32())
TIME = Kind(read.timestamp, pa.int64())
FLAG = Kind(read.truth, pa.bool_(), plain=bool)
TEXTS = Kind(read.texts, pa.list_(pa.field("item", pa.string())), list)
MAP = Kind(read.text_map, _MAP, dict)
VALUES = Kind(_values, _MAP, dict)
OBJECT = Kind(read.members, write=dict)
FEATURES = Kind(
    lambda value: frozenset(read.texts(value)), write=lambda names: sorted(names) or None
)
VECTOR = Kind(_vector, _VECTOR, _vector_json)
RUNS = Kind(_runs, _RUNS, lambda runs: [_run_json(run) for run in runs])


@dataclass(frozen=True)
class Member:
    """One member of an action.

    `absent` makes the value if JSON has none and the class has no default; `logged` is false for
    members that only entries of a state have.
    """

    name: str
    attribute: str
    kind: Kind
    shown: str | None = None
    absent: Callable[[], Any] | None = None
    logged: bool = True


@dataclass(frozen=True)
class ActionKind:
    """One kind of action: its name in JSON, its class, its members in the order they are written.

    `also_shown` are members of other writers that DESCRIBE TRANSACTION LOG has columns for.
    `unfold` and `fold` adapt a JSON object whose shape differs from the class.
    """

    name: str
    value: type[Any]
    members: tuple[Member, ...]
    shown: str
    also_shown: Mapping[str, str] | None = None
    other_names: tuple[str, ...] = ()
    unfold: Callable[[JsonObject], JsonObject] = _same
    fold: Callable[[JsonObject], JsonObject] = _same

    @cached_property
    def _readers(self) -> Mapping[str, tuple[str, type | None, Callable[[Any], Any]]]:
        return {
            member.name: (member.attribute, member.kind.plain, member.kind.read)
            for member in self.members
            if member.logged
        }

    @cached_property
    def required(self) -> tuple[Member, ...]:
        """The required members."""
        needed = {
            f.name
            for f in fields(self.value)
            if f.default is MISSING and f.default_factory is MISSING
        }
        return tuple(m for m in self.members if m.attribute in needed)

    def decode(self, body: JsonObject) -> Any:
        """The value of a JSON object; KeyError or TypeError if the object is invalid."""
        values: dict[str, Any] = {}
        extra: JsonObject = {}
        known = self._readers
        for name, value in self.unfold(body).items():
            if value is None:
                continue
            if name not in known:
                extra[name] = value
                continue
            attribute, plain, reader = known[name]
            values[attribute] = value if type(value) is plain else reader(value)
        for member in self.required:
            if member.attribute not in values:
                if member.absent is None:
                    raise KeyError(member.name)
                values[member.attribute] = member.absent()
        return self.value(**values, extra=extra)

    def encode(self, action: Any) -> JsonObject:
        """The JSON object of a value; absent members are left out."""
        body: JsonObject = {}
        for member in self.members:
            value = getattr(action, member.attribute)
            if value is not None and member.logged:
                written = member.kind.write(value)
                if written is not None:
                    body[member.name] = written
        return self.fold(body) | dict(action.extra)


ADD_MEMBERS = (
    Member("path", "path", PATH, "path"),
    Member("partitionValues", "partition_values", VALUES, "partition_values", absent=dict),
    Member("size", "size", LONG, "size"),
    Member("modificationTime", "modification_time", TIME, "modification_time"),
    Member("dataChange", "data_change", FLAG, "data_change"),
    Member("stats", "stats", TEXT, "stats"),
    Member("minValues", "min_values", MAP, "min_values"),
    Member("maxValues", "max_values", MAP, "max_values"),
    Member("numRecords", "num_records", LONG, "num_records"),
    Member("footerStartOffset", "footer_start_offset", LONG, "footer_start_offset"),
    Member("footerEndOffset", "footer_end_offset", LONG, "footer_end_offset"),
    Member("hasFooterOffsets", "has_footer_offsets", FLAG, "has_footer_offsets"),
    Member("deleteOpstamp", "delete_opstamp", LONG, "delete_opstamp"),
    Member("splitTags", "split_tags", TEXTS, "split_tags"),
    Member("numMergeOps", "num_merge_ops", INT, "num_merge_ops"),
    Member("docMappingJson", "doc_mapping_json", TEXT, "doc_mapping_json"),
    Member("docMappingRef", "doc_mapping_ref", TEXT, "doc_mapping_ref"),
    Member("uncompressedSizeBytes", "uncompressed_size_bytes", LONG, "uncompressed_size_bytes"),
    Member("timeRangeStart", "time_range_start", SPELLED, "time_range_start"),
    Member("timeRangeEnd", "time_range_end", SPELLED, "time_range_end"),
    Member("addedAtVersion", "added_at_version", LONG, logged=False),
    Member("addedAtTimestamp", "added_at_timestamp", LONG, logged=False),
    Member("companionSourceFiles", "companion_source_files", TEXTS),
    Member("companionDeltaVersion", "companion_delta_version", LONG),
    Member("companionFastFieldMode", "companion_fast_field_mode", TEXT),
    Member("companionRuns", "companion_runs", RUNS),
    Member("deletionVector", "deletion_vector", VECTOR),
)


def _with_footer_flag(body: JsonObject) -> JsonObject:
    if body.get("hasFooterOffsets") is not None:
        return body
    start, end = body.get("footerStartOffset"), body.get("footerEndOffset")
    return {**body, "hasFooterOffsets": bool(start is not None and end)}


def _unfold_format(body: JsonObject) -> JsonObject:
    given = body.get("format")
    form = {} if given is None else read.members(given)
    rest = {name: value for name, value in body.items() if name != "format"}
    return rest | {
        "format.provider": form.get("provider") or None,
        "format.options": form.get("options"),
    }


_BEFORE_FORMAT: tuple[str, ...] = ("id", "name", "description")


def _fold_format(body: JsonObject) -> JsonObject:
    form = {"provider": body.pop("format.provider"), "options": body.pop("format.options")}
    head: JsonObject = {name: body.pop(name) for name in _BEFORE_FORMAT if name in body}
    return {**head, "format": form, **body}


ACTIONS = (
    ActionKind(
        "protocol",
        Protocol,
        (
            Member("minReaderVersion", "min_reader_version", INT, "protocol_min_reader_version"),
            Member("minWriterVersion", "min_writer_version", INT, "protocol_min_writer_version"),
            Member("readerFeatures", "reader_features", FEATURES, "protocol_reader_features"),
            Member("writerFeatures", "writer_features", FEATURES, "protocol_writer_features"),
        ),
        shown="protocol",
    ),
    ActionKind(
        "metaData",
        Metadata,
        (
            Member("id", "id", TEXT, "metadata_id"),
            Member("name", "name", TEXT, "metadata_name"),
            Member("description", "description", TEXT, "metadata_description"),
            Member("format.provider", "provider", TEXT, "metadata_format_provider"),
            Member("format.options", "format_options", MAP, "metadata_format_options"),
            Member("schemaString", "schema_string", TEXT, "metadata_schema_string"),
            Member("partitionColumns", "partition_columns", TEXTS, "metadata_partition_columns"),
            Member("configuration", "configuration", MAP, "metadata_configuration"),
            Member("createdTime", "created_time", TIME, "metadata_created_time"),
        ),
        shown="metadata",
        unfold=_unfold_format,
        fold=_fold_format,
    ),
    ActionKind(
        "add",
        AddFile,
        ADD_MEMBERS,
        shown="add",
        also_shown={
            "tags": "tags",
            "hotcacheStartOffset": "hotcache_start_offset",
            "hotcacheLength": "hotcache_length",
        },
        unfold=_with_footer_flag,
    ),
    ActionKind(
        "remove",
        RemoveFile,
        (
            Member("path", "path", PATH, "path"),
            Member("deletionTimestamp", "deletion_timestamp", TIME, "deletion_timestamp"),
            Member("dataChange", "data_change", FLAG, "data_change"),
            Member("partitionValues", "partition_values", VALUES, "partition_values"),
            Member("size", "size", LONG, "size"),
        ),
        shown="remove",
        also_shown={"tags": "tags", "extendedFileMetadata": "extended_file_metadata"},
    ),
    ActionKind(
        "mergeskip",
        SkipFile,
        (
            Member("path", "path", PATH, "path"),
            Member("skipTimestamp", "skip_timestamp", TIME, "skip_timestamp"),
            Member("reason", "reason", TEXT, "skip_reason"),
            Member("operation", "operation", TEXT, "skip_operation"),
            Member("partitionValues", "partition_values", VALUES, "partition_values"),
            Member("size", "size", LONG, "size"),
            Member("retryAfter", "retry_after", TIME, "skip_retry_after"),
            Member("skipCount", "skip_count", INT, "skip_count"),
        ),
        shown="skip",
        other_names=("skip",),
    ),
    ActionKind(
        "indexFile",
        IndexFile,
        (
            Member("type", "type", TEXT),
            Member("partitionValues", "partition_values", VALUES, "partition_values", absent=dict),
            Member("bucket", "bucket", LONG),
            Member("file", "file", PATH, "path"),
            Member("size", "size", LONG, "size"),
            Member("rowCount", "row_count", LONG, "num_records"),
        ),
        shown=NOT_SHOWN,
    ),
    ActionKind(
        "txn",
        Txn,
        (
            Member("appId", "app_id", TEXT),
            Member("version", "version", LONG),
            Member("lastUpdated", "last_updated", TIME),
        ),
        shown=NOT_SHOWN,
    ),
    ActionKind(
        "commitInfo",
        CommitInfo,
        (
            Member("id", "id", TEXT, absent=lambda: None),
            Member("timestamp", "timestamp", TIME, absent=lambda: 0),
            Member("operation", "operation", TEXT, absent=lambda: "UNKNOWN"),
            Member("operationParameters", "parameters", OBJECT),
            Member("operationMetrics", "metrics", OBJECT),
            Member("engineInfo", "engine_info", TEXT),
            Member("readVersion", "read_version", LONG),
            Member("isBlindAppend", "is_blind_append", FLAG),
            Member("userMetadata", "user_metadata", TEXT),
        ),
        shown=NOT_SHOWN,
    ),
)
BY_NAME = {name: kind for kind in ACTIONS for name in (kind.name, *kind.other_names)}
BY_TYPE: Mapping[type[Any], ActionKind] = {kind.value: kind for kind in ACTIONS}
