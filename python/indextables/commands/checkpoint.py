"""CHECKPOINT and COMPACT: write a state of the latest version for readers to start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import TARGET, Command, Rule, columns
from indextables.commands.target import Target, open_target
from indextables.errors import IndexTablesError

if TYPE_CHECKING:
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps

_FACTS = 2  # protocol and metadata
_OUTPUT = columns(
    "table_path string, status string, checkpoint_version bigint, num_actions bigint, "
    "num_files bigint, protocol_version bigint, is_multi_part boolean"
)


@dataclass(frozen=True)
class Checkpoint(Command):
    """Write a compact checkpoint of the latest version, without entries of removed splits.

    A version that already has a checkpoint keeps it.
    """

    target: Target


@dataclass(frozen=True)
class Compact(Command):
    """Write a compact checkpoint, as CHECKPOINT does.

    If the latest version already has a checkpoint that is not compact, a compact one is written
    in a new version without changes.
    """

    target: Target


def run_checkpoint(table: OpenTable, *, keep: bool) -> list[Row]:
    """Write the state; `keep` one of the latest version that is not compact."""
    done = table.log.checkpoint(compact="requested", keep=keep)
    return [
        {
            "table_path": table.path,
            "status": "SUCCESS",
            "checkpoint_version": done.version,
            "num_actions": done.num_files + _FACTS,
            "num_files": done.num_files,
            "protocol_version": table.log.snapshot().protocol.min_reader_version,
            "is_multi_part": done.parts is not None,
        }
    ]


def run(command: Checkpoint | Compact, context: Context) -> Steps[list[Row]]:
    """Write the state and report a failure as a result."""
    try:
        table = yield from open_target(command.target, context)
        return run_checkpoint(table, keep=isinstance(command, Checkpoint))
    except IndexTablesError as problem:
        failed = {"table_path": str(command.target), "status": f"ERROR: {problem.message}"}
        return [failed | {"is_multi_part": False}]


RULES = (
    Rule(Checkpoint, "CHECKPOINT IX", (TARGET,), _OUTPUT, run),
    Rule(Compact, "COMPACT IX", (TARGET,), _OUTPUT, run),
)
