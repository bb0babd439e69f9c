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
    """A process of Spark that runs tasks; `driver` when the driver does so itself."""

    id: str
    host: str

    @property
    def location(self) -> str:
        """How Spark names a task's place: this very executor."""
        return f"executor_{self.host}_{self.id}"


class Context(Protocol):
    """The door."""

    def settings(self, configuration: Mapping[str, str]) -> Settings:
        """The settings in force for a table with this configuration."""

    def log(self, path: str) -> Log:
        """The log of the table at a path; doors keep it open between operations."""

    def executors(self) -> list[Executor]:
        """Who runs tasks."""

    def app(self) -> str:
        """The application that all its processes know each other by."""

    def invalidate(self, path: str | None) -> tuple[int, int]:
        """Forget held logs, of one table or all; how often they were hit and missed before."""
