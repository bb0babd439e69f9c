"""DESCRIBE TRANSACTION LOG: every action of the log as a row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from indextables.commands.timestamps import moment
from indextables.log import entries, names
from indextables.log.actions import (
    Action,
    AddFile,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.log import Snapshot
    from indextables.read.table import OpenTable, Row


def run_describe_transaction_log(table: OpenTable, *, include_all: bool) -> list[Row]:
    """From the newest checkpoint on, or from the oldest version there is."""
    reader = table.log.reader
    listing = reader.listing()
    rows: list[Row] = []
    start = -1 if include_all else table.snapshot.base_version
    if not include_all and start >= 0:
        rows += _state_rows(table, table.log.snapshot(start))
    for version in sorted({*listing.versions, *listing.states}):
        if version <= start or version > table.snapshot.version:
            continue
        commit = reader.commit(version) if version in listing.versions else None
        if commit is None:
            # older writers leave versions that exist as a state only
            rows += _state_rows(table, table.log.snapshot(version))
            continue
        place = f"{table.path}/{names.version_file(version)}"
        rows += [
            {"version": version, "log_file_path": place, "is_checkpoint": False} | _cells(action)
            for action in commit.actions
        ]
    return rows


def _state_rows(table: OpenTable, snapshot: Snapshot) -> Iterator[Row]:
    place = f"{table.path}/{names.state_file(snapshot.version)}"
    head: Row = {"version": snapshot.version, "log_file_path": place, "is_checkpoint": True}
    yield head | _cells(snapshot.protocol)
    yield head | _cells(snapshot.metadata)
    for add in entries.to_adds(snapshot.files()):
        yield head | _cells(add)


def _cells(action: Action) -> Row:
    if isinstance(action, AddFile):
        return _add(action)
    if isinstance(action, RemoveFile):
        return {
            "action_type": "remove",
            "path": action.path,
            "partition_values": _json(action.partition_values),
            "size": action.size,
            "data_change": action.data_change,
            "deletion_timestamp": moment(action.deletion_timestamp),
            "extended_file_metadata": action.extra.get("extendedFileMetadata"),
            "tags": _json(action.extra.get("tags")),
        }
    if isinstance(action, SkipFile):
        return {
            "action_type": "skip",
            "path": action.path,
            "partition_values": _json(action.partition_values),
            "size": action.size,
            "skip_timestamp": moment(action.skip_timestamp),
            "skip_reason": action.reason,
            "skip_operation": action.operation,
            "skip_retry_after": moment(action.retry_after),
            "skip_count": action.skip_count,
        }
    if isinstance(action, Protocol):
        return {
            "action_type": "protocol",
            "protocol_min_reader_version": action.min_reader_version,
            "protocol_min_writer_version": action.min_writer_version,
            "protocol_reader_features": _json(sorted(action.reader_features) or None),
            "protocol_writer_features": _json(sorted(action.writer_features) or None),
        }
    return _metadata(action) if isinstance(action, Metadata) else {"action_type": "unknown"}


def _add(action: AddFile) -> Row:
    return {
        "action_type": "add",
        "path": action.path,
        "partition_values": _json(action.partition_values),
        "size": action.size,
        "data_change": action.data_change,
        "tags": _json(action.extra.get("tags")),
        "modification_time": moment(action.modification_time),
        "stats": action.stats,
        "min_values": _json(action.min_values),
        "max_values": _json(action.max_values),
        "num_records": action.num_records,
        "footer_start_offset": action.footer_start_offset,
        "footer_end_offset": action.footer_end_offset,
        "hotcache_start_offset": action.extra.get("hotcacheStartOffset"),
        "hotcache_length": action.extra.get("hotcacheLength"),
        "has_footer_offsets": action.has_footer_offsets,
        "time_range_start": action.time_range_start,
        "time_range_end": action.time_range_end,
        "split_tags": _json(action.split_tags),
        "delete_opstamp": action.delete_opstamp,
        "num_merge_ops": action.num_merge_ops,
        "doc_mapping_json": action.doc_mapping_json,
        "doc_mapping_ref": action.doc_mapping_ref,
        "uncompressed_size_bytes": action.uncompressed_size_bytes,
    }


def _metadata(action: Metadata) -> Row:
    return {
        "action_type": "metadata",
        "metadata_id": action.id,
        "metadata_name": action.name,
        "metadata_description": action.description,
        "metadata_format_provider": action.provider,
        "metadata_format_options": _json(action.format_options),
        "metadata_schema_string": action.schema_string,
        "metadata_partition_columns": _json(list(action.partition_columns)),
        "metadata_configuration": _json(action.configuration),
        "metadata_created_time": moment(action.created_time),
    }


def _json(value: Any) -> str | None:
    if value is None:
        return None
    plain = dict(value) if hasattr(value, "items") else list(value)
    return json.dumps(plain, ensure_ascii=False)
