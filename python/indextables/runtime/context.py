"""The context that every operation gets from its caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.config.settings import Settings
    from indextables.log import Log


@dataclass(frozen=True)
class Executor:
    """A Spark process that runs tasks; `driver` if the driver does so itself."""

    id: str
    host: str

    @property
    def location(self) -> str:
        """This executor as a preferred location of a Spark task."""
        return f"executor_{self.host}_{self.id}"


class Context(Protocol):
    """What an operation needs from its caller."""

    def settings(self, configuration: Mapping[str, str]) -> Settings:
        """The effective settings for a table with this configuration."""

    def log(self, path: str) -> Log:
        """The log of the table at a path; callers keep it open between operations."""

    def executors(self) -> list[Executor]:
        """The executors."""

    def app(self) -> str:
        """The id of the application, shared by all its processes."""

    def invalidate(self, path: str | None) -> tuple[int, int]:
        """Evict cached logs, of one table or all; return hits and misses before."""
