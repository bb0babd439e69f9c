"""DESCRIBE HISTORY: who did what when, newest first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from indextables.commands.timestamps import moment

if TYPE_CHECKING:
    from indextables.log.history import HistoryEntry
    from indextables.read.table import OpenTable, Row


def run_describe_history(table: OpenTable, limit: int | None) -> list[Row]:
    """One row per version that is still in the log."""
    return [_row(entry) for entry in table.log.history(limit)]


def _row(entry: HistoryEntry) -> Row:
    return {
        "version": entry.version,
        "timestamp": moment(entry.timestamp_ms or None),
        # other writers leave no word about what they did
        "operation": entry.operation or "UNKNOWN",
        "operation_parameters": json.dumps(dict(entry.parameters)),
        "operation_metrics": json.dumps(dict(entry.metrics)),
        "read_version": entry.read_version,
        "is_blind_append": entry.is_blind_append,
        "engine_info": entry.engine_info,
        "user_metadata": entry.user_metadata,
    }
