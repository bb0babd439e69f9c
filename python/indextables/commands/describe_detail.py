"""DESCRIBE DETAIL: the properties of a table, in one row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import DESCRIBE, TARGET, Command, Rule, columns
from indextables.commands.target import Target, open_target
from indextables.commands.timestamps import to_datetime
from indextables.model import kernels as pc

if TYPE_CHECKING:
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_OUTPUT = columns(
    "format string, id string, name string, description string, location string, "
    "created_at timestamp, last_modified timestamp, version bigint, "
    "partition_columns string, num_files bigint, num_records bigint, "
    "num_deleted_records bigint, size_in_bytes bigint, properties string, "
    "min_reader_version int, min_writer_version int, table_features string"
)


@dataclass(frozen=True)
class DescribeDetail(Command):
    """Show format, location, size, properties and protocol of a table."""

    target: Target


def run_describe_detail(table: OpenTable) -> list[Row]:
    """Return format, location, size and properties of the latest version."""
    snapshot = table.snapshot
    metadata, protocol = snapshot.metadata, snapshot.protocol
    vectors = snapshot.files()["deletionVector"]
    deleted = pc.sum(pc.struct_field(vectors, "cardinality")).as_py() or 0
    features = sorted({*protocol.reader_features, *protocol.writer_features})
    # document mappings are stored as properties; they are of no use in this row
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
            "created_at": to_datetime(metadata.created_time),
            "last_modified": to_datetime(snapshot.timestamp_ms or None),
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


def run(command: DescribeDetail, context: Context) -> Steps[list[Row]]:
    """Run the command."""
    return run_describe_detail((yield from open_target(command.target, context)))


RULES = (
    Rule(DescribeDetail, f"{DESCRIBE} DETAIL", (TARGET,), _OUTPUT, run),
    Rule(DescribeDetail, "DESCRIBE|DESC DETAIL", (TARGET,), _OUTPUT, run, borrowed=True),
)
