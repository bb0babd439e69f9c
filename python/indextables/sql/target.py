"""What a command is about: a path, or a name to look up in the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.errors import error
from indextables.storage.address import names_store

MAX_PARTS = 2
_PATH_STARTS = ("/", "./", "../")


@dataclass(frozen=True)
class Target:
    """A quoted text (`path`) or the parts of a qualified name."""

    path: str | None = None
    name: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.path is None) == (not self.name):
            raise error("SQL_CLAUSE", problem="a target is either a path or a name")

    @property
    def is_path(self) -> bool:
        """Whether no catalog needs to be asked."""
        if self.path is None:
            return False
        return self.path.startswith(_PATH_STARTS) or names_store(self.path)

    @property
    def parts(self) -> tuple[str, ...]:
        """The name to ask the catalog for; a quoted text that is no path is one too."""
        return self.name or tuple((self.path or "").split("."))

    def __str__(self) -> str:
        return self.path if self.path is not None else ".".join(self.name)
