"""DESCRIBE HISTORY: the commits of a table, newest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import (
    DESCRIBE,
    TARGET,
    Clause,
    Command,
    NumberKind,
    Rule,
    columns,
)
from indextables.commands.target import Target, open_target
from indextables.commands.timestamps import to_datetime

if TYPE_CHECKING:
    from indextables.log.history import HistoryEntry
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_PARTS = (TARGET, Clause("LIMIT", "limit", NumberKind()))
_OUTPUT = columns(
    "version bigint, timestamp timestamp, operation string, operation_parameters string, "
    "operation_metrics string, read_version bigint, is_blind_append boolean, "
    "engine_info string, user_metadata string"
)


@dataclass(frozen=True)
class DescribeHistory(Command):
    """Show the commits of a table, newest first."""

    target: Target
    limit: int | None = None


def run_describe_history(table: OpenTable, limit: int | None) -> list[Row]:
    """Return one row per version that is still in the log."""
    return [_row(entry) for entry in table.log.history(limit)]


def _row(entry: HistoryEntry) -> Row:
    return {
        "version": entry.version,
        "timestamp": to_datetime(entry.timestamp_ms or None),
        # other writers do not record their operation
        "operation": entry.operation or "UNKNOWN",
        "operation_parameters": json.dumps(dict(entry.parameters)),
        "operation_metrics": json.dumps(dict(entry.metrics)),
        "read_version": entry.read_version,
        "is_blind_append": entry.is_blind_append,
        "engine_info": entry.engine_info,
        "user_metadata": entry.user_metadata,
    }


def run(command: DescribeHistory, context: Context) -> Steps[list[Row]]:
    """Run the command."""
    return run_describe_history((yield from open_target(command.target, context)), command.limit)


RULES = (
    Rule(DescribeHistory, f"{DESCRIBE} HISTORY", _PARTS, _OUTPUT, run),
    Rule(DescribeHistory, "DESCRIBE|DESC HISTORY", _PARTS, _OUTPUT, run, borrowed=True),
)
