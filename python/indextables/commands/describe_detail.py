"""DESCRIBE DETAIL: what a table is, in one row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from indextables.commands.timestamps import moment

if TYPE_CHECKING:
    from indextables.read.table import OpenTable, Row


def run_describe_detail(table: OpenTable) -> list[Row]:
    """Format, place, size and properties of the newest version."""
    snapshot = table.snapshot
    metadata, protocol = snapshot.metadata, snapshot.protocol
    vectors = snapshot.files()["deletionVector"]
    deleted = pc.sum(pc.struct_field(vectors, "cardinality")).as_py() or 0
    features = sorted({*protocol.reader_features, *protocol.writer_features})
    # document mappings live among the properties; they say nothing to a reader of this row
    shown = {
        key: value
        for key, value in sorted(metadata.configuration.items())
        if not key.startswith("docMappingSchema.")
    }
    return [
        {
            "format": metadata.provider,
            "id": metadata.id,
            "name": metadata.name,
            "description": metadata.description,
            "location": table.path,
            "created_at": moment(metadata.created_time),
            "last_modified": moment(snapshot.timestamp_ms or None),
            "version": snapshot.version,
            "partition_columns": json.dumps(list(snapshot.partition_columns)),
            "num_files": snapshot.num_files,
            "num_records": snapshot.num_records,
            "num_deleted_records": deleted,
            "size_in_bytes": snapshot.size_bytes,
            "properties": json.dumps(shown),
            "min_reader_version": protocol.min_reader_version,
            "min_writer_version": protocol.min_writer_version,
            "table_features": json.dumps(features),
        }
    ]
