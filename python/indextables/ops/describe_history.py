"""DESCRIBE HISTORY: who did what when, newest first."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from indextables.ops.timestamps import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.log.replay import Commit
    from indextables.ops.opened import OpenTable, Row


def run_describe_history(table: OpenTable, limit: int | None) -> list[Row]:
    """One row per version that is still in the log."""
    return list(islice(_rows(table), limit))


def _rows(table: OpenTable) -> Iterator[Row]:
    reader = table.log.reader
    listing = reader.listing()
    for version in sorted({*listing.versions, *listing.states}, reverse=True):
        commit = reader.commit(version) if version in listing.versions else None
        if commit is not None:
            yield _row(commit)
        elif version in listing.states:
            # older writers leave versions that exist as a state only
            written = reader.state(version).created_at
            yield {"version": version, "timestamp": moment(written), "operation": "UNKNOWN"}


def _row(commit: Commit) -> Row:
    info = commit.info
    row: Row = {"version": commit.version, "timestamp": moment(commit.timestamp or None)}
    if info is None:
        # other writers leave no word about themselves
        return row | {"operation": "UNKNOWN"}
    return row | {
        "operation": info.operation,
        "operation_parameters": json.dumps(dict(info.parameters)),
        "operation_metrics": json.dumps(dict(info.metrics)),
        "read_version": info.read_version,
        "is_blind_append": info.is_blind_append,
        "engine_info": info.engine_info,
        "user_metadata": info.user_metadata,
        "commit_id": info.id,
    }
