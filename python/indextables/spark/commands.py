"""SQL commands for the hooks: text in, rows out.

What a command needs of Spark (where a named table lies, tasks on the executors) cannot be asked
from within a call. So the call answers what it needs, and the hooks call again with the answer: the
command runs from its start each time, over the answers and steps it already has.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from indextables.config.settings import resolve
from indextables.errors import IndexTablesError
from indextables.expr.predicate import parse_conjunction
from indextables.runtime.context import Executor
from indextables.runtime.handles import Orders, follow, orders
from indextables.runtime.process_stats import publish
from indextables.runtime.tasks import run_task
from indextables.spark import warm
from indextables.spark.read_task import named
from indextables.spark.request import executors_of
from indextables.spark.shipping import pickled, to_stream
from indextables.sql.execute import execute
from indextables.sql.outputs import output_of
from indextables.sql.parser import parse
from indextables.sql.where import parse_where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.expr.predicate import Predicate
    from indextables.log import Log
    from indextables.model.types import Struct
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request

T = TypeVar("T")
RESULT = "result"


def schema(request: Request) -> dict[str, Any]:
    """The columns a command answers with."""
    return {"schema": output_of(parse(request.body["text"])).to_json()}


def run(request: Request) -> Answer:
    """The rows of a command, or what it needs first."""
    door = SparkDoor(
        request,
        list(request.body.get("answers") or []),
        list((request.body.get("state") or {}).get("steps", [])),
    )
    try:
        result = execute(request.body["text"], door)
    except _NeededError as needed:
        return {"need": needed.what, "state": {"steps": door.steps}}, needed.parts
    return {}, [to_stream(result)]


class _NeededError(Exception):
    """The command cannot go on without Spark."""

    def __init__(self, what: dict[str, Any], parts: Sequence[bytes] = ()) -> None:
        super().__init__(what["kind"])
        self.what = what
        self.parts = list(parts)


@dataclass
class SparkDoor:
    """Answers what operations ask, from what the hooks have brought so far."""

    request: Request
    answers: list[dict[str, Any]]
    steps: list[Any]
    _answered: int = 0
    _stepped: int = field(default=0)

    def _ask(self, what: dict[str, Any], parts: Sequence[bytes] = ()) -> dict[str, Any]:
        if self._answered >= len(self.answers):
            raise _NeededError(what, parts)
        self._answered += 1
        return self.answers[self._answered - 1]

    def settings(self, configuration: Mapping[str, str]) -> Settings:
        """The settings in force for a table with this configuration."""
        return resolve({}, self.request.session, configuration)

    def log(self, path: str) -> Log:
        """The log of the table at a path, shared with the scans."""
        return warm.log_at(self.request.qualify(path), self.settings({}))

    def logs(self) -> list[Log]:
        """All logs that are held open."""
        return warm.all_logs()

    def locate(self, name: tuple[str, ...]) -> str | None:
        """Where the catalog says a table lies."""
        location: str | None = self._ask({"kind": "location", "name": list(name)})["location"]
        return location

    def predicate(self, text: str, schema: Struct) -> Predicate:
        """What a WHERE clause means; Spark's parser knows more than ours."""
        try:
            return parse_where(text, schema)
        except IndexTablesError:
            what = {"kind": "predicate", "text": text, "schema": schema.to_json()}
            return parse_conjunction(self._ask(what)["predicates"])

    def tasks(
        self, kind: str, payloads: Sequence[Mapping[str, Any]], places: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Run independent pieces of work on the executors."""
        if not payloads:
            return []
        result = {"name": RESULT, "type": "binary", "nullable": True, "metadata": {}}
        function = pickled(
            CommandTask(kind, orders(self.app())), {"type": "struct", "fields": [result]}
        )
        parts = [function, *(json.dumps(payload).encode() for payload in payloads)]
        results: list[dict[str, Any]] = self._ask({"kind": "tasks", "places": list(places)}, parts)[
            "results"
        ]
        return results

    def executors(self) -> list[Executor]:
        """Who runs tasks, as the hooks say."""
        return executors_of(self.request)

    def app(self) -> str:
        """Spark's name of the application."""
        return self.request.app

    def step(self, compute: Callable[[], T]) -> T:
        """Do something once, whatever number of calls the command takes."""
        if self._stepped >= len(self.steps):
            self.steps.append(compute())
        self._stepped += 1
        done: T = self.steps[self._stepped - 1]
        return done

    def properties(self) -> Mapping[str, str]:
        """The session's settings."""
        return self.request.session

    def invalidate(self, path: str | None) -> tuple[int, int]:
        """Forget held logs."""
        return warm.invalidate(None if path is None else self.request.qualify(path))


@dataclass(frozen=True)
class CommandTask:
    """One piece of a command's work, in an executor's Python worker."""

    kind: str
    orders: Orders

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One batch with the result as JSON."""
        follow(self.orders)
        for batch in batches:
            work, _ = named(batch)
            done = run_task(self.kind, json.loads(work))
            result = pa.array([json.dumps(done).encode()], pa.binary())
            publish(self.orders.app, profiled=self.orders.profiled)
            yield pa.record_batch([result], names=[RESULT])
