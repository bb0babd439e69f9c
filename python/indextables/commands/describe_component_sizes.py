"""DESCRIBE COMPONENT SIZES: the size of each component of the splits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.commands.grammar import DESCRIBE, TARGET, WHERE, Command, Rule, columns
from indextables.commands.partition_choice import choose_files
from indextables.commands.target import Target, open_target
from indextables.engine.split import Split
from indextables.log import entries
from indextables.runtime.handles import native_store
from indextables.runtime.steps import run_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.log import AddFile
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_PER_TASK = 200  # splits; as many are opened without a task
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
    adds = entries.to_adds(files)
    splits = [_split(add) for add in adds]
    url, options = table.store.native()
    payloads = [
        {"url": url, "options": options, "splits": splits[start : start + _PER_TASK]}
        for start in range(0, len(splits), _PER_TASK)
    ]
    if len(payloads) > 1:
        found = yield from run_tasks("component_sizes", payloads)
    else:
        found = [run_component_sizes_task(payload) for payload in payloads]
    components = (each for part in found for each in part["components"])
    return [
        _head(add) | component
        for add, parts in zip(adds, components, strict=True)
        for component in parts
    ]


def run_component_sizes_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The components of some splits, in their order."""
    store = native_store(payload["url"], payload["options"])
    splits = (
        Split(store, split["path"], tuple(split["footer"]) if split["footer"] else None)
        for split in payload["splits"]
    )
    return {"components": [split.components() for split in splits]}


def _split(add: AddFile) -> dict[str, Any]:
    start, end = add.footer_start_offset, add.footer_end_offset
    footer = (start, end) if start is not None and end is not None else None
    return {"path": add.path, "footer": footer}


def _head(add: AddFile) -> Row:
    values = json.dumps(dict(add.partition_values)) if add.partition_values else None
    return {"split_path": add.path, "partition_values": values}


def run(command: DescribeComponentSizes, context: Context) -> Steps[list[Row]]:
    """Run the command."""
    table = yield from open_target(command.target, context)
    return (yield from run_component_sizes(table, command.where))


RULES = (
    Rule(DescribeComponentSizes, f"{DESCRIBE} COMPONENT SIZES", (TARGET, WHERE), _OUTPUT, run),
)
