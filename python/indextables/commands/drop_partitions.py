"""DROP PARTITIONS: remove whole partitions. Their files stay until PURGE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import TARGET, Command, Part, PredicateKind, Rule, Words, columns
from indextables.commands.partition_choice import PartitionChoice, choose_partitions
from indextables.commands.target import Target, open_target, require_short_name
from indextables.errors import InvalidError
from indextables.log import operations
from indextables.model import kernels as pc
from indextables.plan.companion import on_companion

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.log import Snapshot
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_OUTPUT = columns(
    "table_path string, status string, partitions_dropped bigint, splits_removed bigint, "
    "total_size_bytes bigint, message string"
)


@dataclass(frozen=True)
class DropPartitions(Command):
    """Remove whole partitions from the table.

    The predicate may name partition columns only. Files stay until PURGE.
    """

    target: Target
    where: str

    def __post_init__(self) -> None:
        require_short_name(self.target)


class _NewPartitionError(Exception):
    """A partition was added since the predicate was evaluated."""


def run_drop_partitions(table: OpenTable, where: str) -> Steps[list[Row]]:
    """Remove the partitions that match a predicate at the time of the commit."""
    read = table.snapshot
    while True:
        try:
            choice = yield from choose_partitions(where, read)
            chosen = _matching(choice, read)
        except InvalidError as problem:
            return [_row(table, "error", None, problem.message)]
        if not chosen.num_rows:
            return [_row(table, "no_action", None, "no partition matches")]
        try:
            removed = _commit(table, read, choice, where)
        except _NewPartitionError:
            read = table.log.snapshot()
        else:
            return [_row(table, "success", removed, "files are deleted by PURGE INDEXTABLE")]


def _commit(table: OpenTable, read: Snapshot, choice: PartitionChoice, where: str) -> pa.Table:
    """Commit the removal of the matching splits of the latest snapshot, and return them."""
    removed: list[pa.Table] = []

    def matching(newest: Snapshot) -> pa.Table:
        removed.append(_matching(choice, newest))
        return removed[-1]

    transaction = operations.drop_matching(read, matching, parameters={"predicate": where})
    table.log.commit(on_companion(transaction))
    return removed[-1]


def _matching(choice: PartitionChoice, snapshot: Snapshot) -> pa.Table:
    found = choice.files_of(snapshot.files())
    if found is None:
        raise _NewPartitionError
    return found


def _row(table: OpenTable, status: str, files: pa.Table | None, message: str) -> Row:
    partitions = set()
    if files is not None:
        partitions = {
            tuple(sorted(values or ())) for values in files["partitionValues"].to_pylist()
        }
    return {
        "table_path": table.path,
        "status": status,
        "partitions_dropped": len(partitions),
        "splits_removed": 0 if files is None else files.num_rows,
        "total_size_bytes": 0 if files is None else pc.sum(files["size"]).as_py() or 0,
        "message": message,
    }


def run(command: DropPartitions, context: Context) -> Steps[list[Row]]:
    """Drop the partitions of a table."""
    table = yield from open_target(command.target, context)
    return (yield from run_drop_partitions(table, command.where))


RULES = (
    Rule(
        DropPartitions,
        "DROP IX PARTITIONS FROM",
        (TARGET, Words("WHERE"), Part("where", PredicateKind())),
        _OUTPUT,
        run,
    ),
)
