"""DESCRIBE COMPONENT SIZES: the size of each component of the splits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import DESCRIBE, TARGET, WHERE, Command, Rule, columns
from indextables.commands.partition_choice import choose_files
from indextables.commands.target import Target, open_target
from indextables.engine.split import Split
from indextables.log import entries
from indextables.runtime.handles import native_store

if TYPE_CHECKING:
    from indextables.log import AddFile
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_OUTPUT = columns(
    "split_path string, partition_values string, component_key string, size_bytes bigint, "
    "component_type string, field_name string"
)


@dataclass(frozen=True)
class DescribeComponentSizes(Command):
    """Show the size of each component of the splits."""

    target: Target
    where: str | None = None


def run_component_sizes(table: OpenTable, where: str | None) -> Steps[list[Row]]:
    """Return one row per component of every split of the selected partitions."""
    files = table.snapshot.files()
    if where is not None:
        files = yield from choose_files(where, table.snapshot)
    return [row for add in entries.to_adds(files) for row in _rows(table, add)]


def _rows(table: OpenTable, add: AddFile) -> list[Row]:
    values = json.dumps(dict(add.partition_values)) if add.partition_values else None
    head: Row = {"split_path": add.path, "partition_values": values}
    start, end = add.footer_start_offset, add.footer_end_offset
    footer = (start, end) if start is not None and end is not None else None
    split = Split(native_store(*table.store.native()), add.path, footer)
    return [head | component for component in split.components()]


def run(command: DescribeComponentSizes, context: Context) -> Steps[list[Row]]:
    """Run the command."""
    table = yield from open_target(command.target, context)
    return (yield from run_component_sizes(table, command.where))


RULES = (
    Rule(DescribeComponentSizes, f"{DESCRIBE} COMPONENT SIZES", (TARGET, WHERE), _OUTPUT, run),
)
