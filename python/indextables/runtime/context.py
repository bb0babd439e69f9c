"""What an operation asks of the door it was called through.

A door that lives in another process (Spark) may have to run the operation again from its start each
time it had to fetch something. So every step that must not happen twice, or must not come out
differently, goes through `step`, whose result is kept between the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.expr.predicate import Predicate
    from indextables.log import Log
    from indextables.model.types import Struct

T = TypeVar("T")


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

    def logs(self) -> list[Log]:
        """All logs that are held open."""

    def locate(self, name: tuple[str, ...]) -> str | None:
        """Where the catalog says a table lies, or None."""

    def predicate(self, text: str, schema: Struct) -> Predicate:
        """What the text of a WHERE clause means over these columns."""

    def tasks(
        self, kind: str, payloads: Sequence[Mapping[str, Any]], places: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Run independent pieces of work, perhaps on many machines; results in their order.

        `places` says where each would best run.
        """

    def executors(self) -> list[Executor]:
        """Who runs tasks."""

    def app(self) -> str:
        """The application that all its processes know each other by."""

    def step(self, compute: Callable[[], T]) -> T:
        """Do something once; the result must be JSON."""

    def properties(self) -> Mapping[str, str]:
        """Settings of the session around us, by name."""

    def invalidate(self, path: str | None) -> tuple[int, int]:
        """Forget held logs, of one table or all; how often they were hit and missed before."""
