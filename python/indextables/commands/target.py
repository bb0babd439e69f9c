"""The target of a command: a path, or a name to look up in the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import require
from indextables.errors import error
from indextables.read.table import OpenTable, open_table
from indextables.runtime.steps import Steps
from indextables.runtime.steps import locate as ask_location
from indextables.storage.address import names_store

if TYPE_CHECKING:
    from indextables.runtime.context import Context

MAX_PARTS = 2
# words that are names only if quoted
RESERVED = frozenset({"MERGE", "SPLITS", "WHERE", "TARGET", "SIZE", "PRECOMMIT", "FLUSH"})
_PATH_STARTS = ("/", "./", "../")


@dataclass(frozen=True)
class Target:
    """A quoted string (`path`) or the parts of a qualified name."""

    path: str | None = None
    name: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.path is None) == (not self.name):
            raise error("SQL_CLAUSE", problem="a target is either a path or a name")

    @property
    def is_path(self) -> bool:
        """Whether no catalog lookup is needed."""
        if self.path is None:
            return False
        return self.path.startswith(_PATH_STARTS) or names_store(self.path)

    @property
    def parts(self) -> tuple[str, ...]:
        """The name to look up in the catalog; a quoted string that is not a path counts as one."""
        return self.name or tuple((self.path or "").split("."))

    def __str__(self) -> str:
        return self.path if self.path is not None else ".".join(self.name)


def require_short_name(target: Target | None) -> None:
    """Reject names of three and more parts."""
    if target is not None:
        require(len(target.name) <= MAX_PARTS, f"Invalid table identifier: {target}")


def locate(target: Target) -> Steps[str]:
    """Resolve a target to a path, through the catalog if it is a name."""
    if target.is_path:
        return str(target)
    found = yield from ask_location(target.parts)
    if found is not None:
        return found
    if target.path is not None:
        return target.path
    raise error("TABLE_NAME_UNKNOWN", name=str(target), path=str(target))


def open_target(target: Target, context: Context) -> Steps[OpenTable]:
    """Load the latest snapshot of the target table."""
    path = yield from locate(target)
    return open_table(path, context)
