"""Run a command: find its function, run it, return its rows as an Arrow table."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.commands.registry import BY_COMMAND
from indextables.runtime.steps import LocalDoor, Steps, finish
from indextables.sql.parser import parse

if TYPE_CHECKING:
    from indextables.commands.grammar import Command
    from indextables.runtime.context import Context


def execute(command: Command | str, context: LocalDoor) -> pa.Table:
    """Run a command, given as text or as a value, to completion in this process."""
    return finish(start(command, context), context)


def start(command: Command | str, context: Context) -> Steps[pa.Table]:
    """Run a command; it yields what it needs from its caller."""
    found = parse(command) if isinstance(command, str) else command
    rule = BY_COMMAND[type(found)]
    rows = rule.run(found, context)
    if isinstance(rows, Generator):
        rows = yield from rows
    return pa.Table.from_pylist(rows, schema=rule.output.to_arrow_schema())
