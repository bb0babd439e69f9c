"""SQL commands for the hooks: text in, rows out.

What a command needs from Spark (the location of a named table, the partitions that match a
predicate, tasks on the executors) is not available within a call. So the call returns the need, the
command waits in this process under an id, and the hooks call again with the answer.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.commands.partition_choice import check_columns, match_partitions
from indextables.commands.registry import output_of
from indextables.commands.tasks import run_task
from indextables.config.settings import resolve
from indextables.errors import IndexTablesError, error
from indextables.log.open_logs import invalidate_logs, log_at
from indextables.runtime.cache import Cache
from indextables.runtime.context import Executor
from indextables.runtime.handles import Orders, follow, orders
from indextables.runtime.process_stats import publish
from indextables.runtime.steps import (
    HostProperties,
    Location,
    Matches,
    Need,
    Properties,
    Steps,
    Tasks,
)
from indextables.spark.read_task import named
from indextables.spark.request import executors_of
from indextables.spark.shipping import pickled, to_stream
from indextables.sql.execute import start
from indextables.sql.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from indextables.config.settings import Settings
    from indextables.log import Log
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request

RESULT = "result"
_ROW = "__row"


@dataclass(frozen=True)
class Waiting:
    """A command that waits for Spark, and its need; None before it starts."""

    steps: Steps[Any]
    app: str
    need: Need | None = None


# a command whose caller never returned is evicted, which ends it
_waiting: Cache[str, Waiting] = Cache(256)


def schema(request: Request) -> dict[str, Any]:
    """The output columns of a command."""
    return {"schema": output_of(parse(request.body["text"])).to_json()}


def run(request: Request) -> Answer:
    """The rows of a command, or its first need."""
    return start_command(start(request.body["text"], SparkDoor(request)), request.app)


def start_command(steps: Steps[Any], app: str) -> Answer:
    """Start a command."""
    return _advance(str(uuid.uuid4()), Waiting(steps, app))


def resume(request: Request) -> Answer:
    """Resume a command with the answer to its need."""
    key = request.body["id"]
    waiting = _waiting.get(key)
    if waiting is None:
        raise error("PLANNER_LOST", operation="command")
    _waiting.evict(key)
    try:
        answer = _read(waiting.need, request.body["answer"])
    except IndexTablesError as failure:
        return _advance(key, waiting, failure=failure)
    return _advance(key, waiting, answer)


def stop(request: Request) -> dict[str, Any]:
    """End a command whose need could not be satisfied, for example because it was canceled."""
    waiting = _waiting.get(request.body["id"])
    if waiting is None:
        return {}
    _waiting.evict(request.body["id"])
    try:
        waiting.steps.throw(error("COMMAND_STOPPED", reason=request.body["reason"]))
    except (IndexTablesError, StopIteration):
        return {}
    waiting.steps.close()
    return {}


def _advance(
    key: str, waiting: Waiting, answer: Any = None, failure: IndexTablesError | None = None
) -> Answer:
    """Run a command until it ends or needs Spark."""
    steps = waiting.steps
    while True:
        try:
            need = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration as end:
            return {}, [] if end.value is None else [to_stream(end.value)]
        failure, answer = None, _without_spark(need)
        if answer is None:
            break
    _waiting.put(key, Waiting(steps, waiting.app, need))
    what, parts = _shown(need, waiting.app)
    return {"id": key, "need": what}, parts


def _without_spark(need: Need) -> list[bool] | None:
    """Answer a need without Spark, if our own parser suffices."""
    if not isinstance(need, Matches):
        return None
    try:
        return match_partitions(need)
    except IndexTablesError:
        return None


def _shown(need: Need, app: str) -> Answer:
    """A need as a document for the hooks."""
    if isinstance(need, Location):
        return {"kind": "location", "name": list(need.name)}, []
    if isinstance(need, Matches):
        rows = pa.array(range(need.values.num_rows), pa.int32())
        values = need.values.append_column(_ROW, rows)
        what = {"kind": "matches", "where": need.where, "row": _ROW}
        return what | {"schema": need.schema.to_json()}, [to_stream(values)]
    if isinstance(need, Properties):
        return {"kind": "properties", "places": list(need.places)}, []
    result = {"name": RESULT, "type": "binary", "nullable": True, "metadata": {}}
    function = pickled(CommandTask(need.kind, orders(app)), {"type": "struct", "fields": [result]})
    payloads = [json.dumps(payload).encode() for payload in need.payloads]
    return {"kind": "tasks", "places": list(need.places)}, [function, *payloads]


def _read(need: Need | None, answer: Mapping[str, Any]) -> Any:
    """The answer of the hooks in the form that the command expects."""
    if isinstance(need, Location):
        if answer.get("database"):
            raise error("TABLE_NAME_IS_DATABASE", name=".".join(need.name))
        return answer["location"]
    if isinstance(need, Properties):
        return [
            HostProperties(found["host"], {owner: found[owner] for owner in ("spark", "hadoop")})
            for found in (answer["driver"], *answer["workers"])
        ]
    if isinstance(need, Tasks):
        return answer["results"]
    assert isinstance(need, Matches)
    if "problem" in answer:
        raise error("PARTITION_PREDICATE", problem=answer["problem"])
    check_columns(set(answer["columns"]), need)
    chosen = set(answer["rows"])
    return [row in chosen for row in range(need.values.num_rows)]


@dataclass(frozen=True)
class SparkDoor:
    """The context of operations in a Spark session."""

    request: Request

    def settings(self, configuration: Mapping[str, str]) -> Settings:
        """The effective settings for a table with this configuration."""
        return resolve(self.request.options, self.request.session, configuration)

    def log(self, path: str) -> Log:
        """The log of the table at a path, shared with the scans."""
        return log_at(self.request.qualify(path), self.settings({}))

    def executors(self) -> list[Executor]:
        """The executors, as the hooks list them."""
        return executors_of(self.request)

    def app(self) -> str:
        """The id of the Spark application."""
        return self.request.app

    def invalidate(self, path: str | None) -> tuple[int, int]:
        """Evict cached logs."""
        return invalidate_logs(None if path is None else self.request.qualify(path))


@dataclass(frozen=True)
class CommandTask:
    """One task of a command, in a Python worker of an executor."""

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
