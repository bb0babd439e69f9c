"""TABLE ROOT: where a companion's source files stand, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indextables.commands.grammar import (
    DESCRIBE,
    TARGET,
    Command,
    Part,
    Rule,
    TextKind,
    Words,
    columns,
    require,
)
from indextables.commands.target import Target, open_target
from indextables.commands.timestamps import to_datetime
from indextables.errors import error
from indextables.log import operations
from indextables.log.protocol import is_companion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from indextables.log import Metadata
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps

_PREFIX = "indextables.companion.tableRoots."
_SET_AT = ".timestamp"
_STATUS = columns("status string")
_ROOT_NAME = re.compile(r"[a-zA-Z0-9_-]+")


@dataclass(frozen=True)
class SetTableRoot(Command):
    """Name a location of a companion's source files."""

    name: str
    path: str
    target: Target

    def __post_init__(self) -> None:
        require_root_name(self.name)
        require(bool(self.path.strip()), "the path of a table root must not be empty")


@dataclass(frozen=True)
class UnsetTableRoot(Command):
    """Remove a table root."""

    name: str
    target: Target

    def __post_init__(self) -> None:
        require_root_name(self.name)


@dataclass(frozen=True)
class DescribeTableRoots(Command):
    """Show the table roots of a companion."""

    target: Target


def root_properties(roots: Iterable[tuple[str, str]], now_ms: int) -> dict[str, str]:
    """The table roots of a command as properties of a companion."""
    found: dict[str, str] = {}
    for name, path in roots:
        found |= {_PREFIX + name: path, _PREFIX + name + _SET_AT: str(now_ms)}
    return found


def run_set(command: SetTableRoot, context: Context) -> Steps[list[Row]]:
    """Add or replace a root."""
    table = yield from open_target(command.target, context)
    name, path = command.name, command.path
    _change(table, root_properties([(name, path)], table.now_ms()), name)
    return [{"status": f"Table root '{name}' set to '{path}'"}]


def run_unset(command: UnsetTableRoot, context: Context) -> Steps[list[Row]]:
    """Remove a root; a missing root is not an error."""
    table = yield from open_target(command.target, context)
    _require_companion(table)
    name = command.name
    key = _PREFIX + name
    if key not in table.snapshot.metadata.configuration:
        return [{"status": f"Table root '{name}' does not exist (no-op)"}]
    _change(table, {key: None, key + _SET_AT: None}, name)
    return [{"status": f"Table root '{name}' removed"}]


def run_describe(command: DescribeTableRoots, context: Context) -> Steps[list[Row]]:
    """Return all roots."""
    table = yield from open_target(command.target, context)
    _require_companion(table)
    found = table.snapshot.metadata.configuration
    names = sorted(
        key.removeprefix(_PREFIX)
        for key in found
        if key.startswith(_PREFIX) and not key.endswith(_SET_AT)
    )
    return [
        {
            "root_name": name,
            "root_path": found[_PREFIX + name],
            "set_timestamp": _shown(found.get(_PREFIX + name + _SET_AT)),
        }
        for name in names
    ]


def _shown(millis: str | None) -> str | None:
    at = to_datetime(int(millis)) if millis is not None and millis.isdigit() else None
    return millis if at is None else at.isoformat()


def _change(table: OpenTable, values: Mapping[str, str | None], name: str) -> None:
    _require_companion(table)

    def change(metadata: Metadata) -> Metadata:
        merged = {**metadata.configuration, **values}
        kept = {key: value for key, value in merged.items() if value is not None}
        return replace(metadata, configuration=kept)

    table.log.commit(
        operations.change_metadata(
            table.snapshot, change, parameters={"tableRoot": name}, on_companion=True
        )
    )


def _require_companion(table: OpenTable) -> None:
    if not is_companion(table.snapshot.metadata):
        raise error("COMPANION_REQUIRED", path=table.path)


def require_root_name(name: str) -> None:
    """Reject a name that cannot be part of a key."""
    require(
        _ROOT_NAME.fullmatch(name) is not None,
        f"`{name}` is not a name of a table root: letters, digits, _ and - are allowed",
    )


RULES = (
    Rule(
        SetTableRoot,
        "SET IX TABLE ROOT",
        (Part("name", TextKind()), Words("="), Part("path", TextKind()), Words("AT"), TARGET),
        _STATUS,
        run_set,
    ),
    Rule(
        UnsetTableRoot,
        "UNSET IX TABLE ROOT",
        (Part("name", TextKind()), Words("AT"), TARGET),
        _STATUS,
        run_unset,
    ),
    Rule(
        DescribeTableRoots,
        f"{DESCRIBE} TABLE ROOTS AT",
        (TARGET,),
        columns("root_name string, root_path string, set_timestamp string"),
        run_describe,
    ),
)
