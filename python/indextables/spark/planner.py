"""The planner: answers the hooks' calls, in a process that Spark keeps between them.

A call is an operation and a JSON document; the answer is a JSON document and binary parts. What
operations share (snapshots, open splits) is in module-level caches of the layers below.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import IO, Any, TypeAlias

from indextables import __version__
from indextables.errors import CODES, IndexTablesError, describe, error
from indextables.spark.call_log import log_call
from indextables.spark.monitoring import new_counts
from indextables.spark.request import Request

# increment together with `Protocol` in jvm/src/Rpc.scala when a document changes its meaning
PROTOCOL = 1

Answer: TypeAlias = tuple[dict[str, Any], list[bytes]]
Operation: TypeAlias = Callable[[Request], dict[str, Any] | Answer]

# operation -> its function; imported on first use, so that the process starts fast
OPERATIONS = {
    "ping": "planner:ping",
    "echo": "planner:echo",
    "describe_error": "planner:describe_error",
    "listen": "lines:listen",
    "load": "tables:load",
    "require": "tables:require",
    "refuse": "tables:refuse",
    "create": "tables:create",
    "adopt": "tables:adopt",
    "prepare_location": "write:prepare_location",
    "replace": "write:replace_table",
    "alter": "tables:alter",
    "finish_alter": "tables:finish_alter",
    "undo_alter": "tables:undo_alter",
    "evolve": "evolve:evolve",
    "can_evolve": "evolve:can_evolve",
    "drop": "tables:drop",
    "partitions": "tables:partitions",
    "push": "scan:push",
    "offer": "scan:offer",
    "plan": "scan:plan",
    "run": "scan:run",
    "join": "scan:join",
    "column_statistics": "scan:column_statistics",
    "bucket": "buckets:bucket",
    "matcher": "matcher:matcher",
    "analyzer": "analyzer:analyzer",
    "significant_terms": "significant:significant_terms",
    "companion": "companions:companion",
    "companion_path": "companions:companion_path",
    "prepare_write": "write:prepare",
    "begin_write": "write:begin",
    "commit": "write:commit",
    "abort": "write:abort",
    "lost": "write:lost",
    "can_delete": "rows:can_delete",
    "delete": "rows:delete",
    "stream_start": "stream:start",
    "stream_latest": "stream:latest",
    "stream_plan": "stream:plan",
    "command_schema": "commands:schema",
    "command": "commands:run",
    "command_next": "commands:resume",
    "command_stop": "commands:stop",
}
# a command keeps what it has committed; of other changes the outcome must be known
_STOPPABLE = frozenset(
    (
        "load",
        "require",
        "partitions",
        "push",
        "offer",
        "plan",
        "run",
        "join",
        "column_statistics",
        "significant_terms",
        "command",
        "command_next",
    )
)


def serve(
    infile: IO[bytes],
    outfile: IO[bytes],
    stoppable: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Read one call, write its answer; run calls that may stop halfway in `stoppable`."""
    from pyspark.serializers import write_int, write_with_length
    from pyspark.worker_util import utf8_deserializer

    operation = utf8_deserializer.loads(infile)
    text = utf8_deserializer.loads(infile)
    with stoppable() if operation in _STOPPABLE else nullcontext():
        document, parts = dispatch(operation, text)
    if counts := new_counts():
        document = document | {"counts": counts}
    write_with_length(json.dumps(document).encode(), outfile)
    write_int(len(parts), outfile)
    for part in parts:
        write_with_length(part, outfile)


def dispatch(operation: str, text: str) -> Answer:
    """Answer a call; a failure is an answer too, because an exception would end the process."""
    try:
        return _answer(operation, _parse(text))
    except IndexTablesError as failure:
        return {"error": describe(failure)}, []
    except Exception as failure:  # noqa: BLE001 (a bug must not end the process and its caches)
        traceback.print_exc(file=sys.stderr)
        detail = f"`{operation}` failed: {type(failure).__name__}: {failure}"
        return {"error": describe(error("INTERNAL", detail=detail))}, []


def _answer(operation: str, request: Request) -> Answer:
    started = time.time_ns()
    answer: dict[str, Any] | Answer
    try:
        answer = _find(operation)(request)
    except IndexTablesError as failure:
        answer = {"error": describe(failure)}
    document, parts = answer if isinstance(answer, tuple) else (answer, [])
    log_call(operation, request, document, started, time.time_ns())
    return document, parts


def _parse(text: str) -> Request:
    body = json.loads(text)
    spoken = body.get("protocol")
    if spoken != PROTOCOL:
        raise error("HOOKS_MISMATCH", jar=spoken, package=PROTOCOL, version=__version__)
    return Request(body)


def _find(operation: str) -> Operation:
    place = OPERATIONS.get(operation)
    if place is None:
        raise error("INTERNAL", detail=f"there is no operation `{operation}`")
    module, name = place.split(":")
    found: Operation = getattr(import_module(f"indextables.spark.{module}"), name)
    return found


def ping(_: Request) -> dict[str, Any]:
    """Identify this process; also keeps it alive."""
    return {"pid": os.getpid(), "version": __version__}


def describe_error(request: Request) -> dict[str, Any]:
    """The definition of an error that the hooks raise themselves."""
    return {"sqlstate": CODES[request.body["code"]].sqlstate}


def echo(request: Request) -> Answer:
    """Return the document, and its text as a part: for tests of the wire format."""
    return {"document": request.body}, [json.dumps(request.body, sort_keys=True).encode()]
