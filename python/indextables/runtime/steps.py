"""What a command requests from its caller, and how it waits for the answer.

A command that needs something from its caller is a generator: it yields a need and is resumed with
the answer. If the caller is another process (Spark), the generator is kept between the calls, and
nothing runs twice.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from indextables.runtime.context import Context

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.model.types import Struct

T = TypeVar("T")


@dataclass(frozen=True)
class Location:
    """The location of a table in the catalog."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class Matches:
    """For which rows of a table of partition values a predicate is true.

    `where` may name columns of `schema` that are not among the values; the caller rejects it then.
    """

    where: str
    schema: Struct
    values: pa.Table


@dataclass(frozen=True)
class Tasks:
    """Independent tasks; `places` are their preferred locations."""

    kind: str
    payloads: Sequence[Mapping[str, Any]]
    places: Sequence[str] = ()


@dataclass(frozen=True)
class Properties:
    """The properties of Spark and Hadoop in effect: on the driver, and at some locations."""

    places: Sequence[str] = ()


@dataclass(frozen=True)
class HostProperties:
    """The properties in effect on a host: `spark` and `hadoop`."""

    host: str
    owners: Mapping[str, Mapping[str, str]]


Need: TypeAlias = Location | Matches | Properties | Tasks
Steps: TypeAlias = Generator[Need, Any, T]


class Door(Protocol):
    """Answers needs at once, in the process that runs the command."""

    def locate(self, name: tuple[str, ...]) -> str | None:
        """The location of a table in the catalog, or None."""

    def matches(self, need: Matches) -> list[bool]:
        """For which partitions the predicate is true."""

    def properties(self, places: Sequence[str] = ()) -> list[HostProperties]:
        """The driver's properties, and those of the workers at these locations."""

    def tasks(
        self, kind: str, payloads: Sequence[Mapping[str, Any]], places: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Run independent tasks; results are in their order."""


class LocalDoor(Context, Door, Protocol):
    """A caller that runs whole commands in this process."""


def locate(name: tuple[str, ...]) -> Steps[str | None]:
    """Ask for the location of a named table."""
    found: str | None = yield Location(name)
    return found


def match(where: str, schema: Struct, values: pa.Table) -> Steps[list[bool]]:
    """Ask for which partitions a predicate is true."""
    found: list[bool] = yield Matches(where, schema, values)
    return found


def ask_properties(places: Sequence[str] = ()) -> Steps[list[HostProperties]]:
    """Ask for the properties of the driver, which come first, and of workers at some locations."""
    found: list[HostProperties] = yield Properties(places)
    return found


def run_tasks(
    kind: str, payloads: Sequence[Mapping[str, Any]], places: Sequence[str] = ()
) -> Steps[list[dict[str, Any]]]:
    """Run independent tasks, perhaps on many hosts; results are in their order."""
    if not payloads:
        return []
    results: list[dict[str, Any]] = yield Tasks(kind, payloads, places)
    return results


def finish(steps: Steps[T], door: Door) -> T:
    """Run a command to its end in this process."""
    resume, argument = steps.send, None
    while True:
        try:
            need = resume(argument)
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            resume, argument = steps.send, satisfy(need, door)
        except Exception as failure:  # noqa: BLE001 (the command decides what a failure means)
            resume, argument = steps.throw, failure


def satisfy(need: Need, door: Door) -> Any:
    """Answer a need."""
    if isinstance(need, Location):
        return door.locate(need.name)
    if isinstance(need, Matches):
        return door.matches(need)
    if isinstance(need, Properties):
        return door.properties(need.places)
    return door.tasks(need.kind, need.payloads, need.places)
