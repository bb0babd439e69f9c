"""Run a task on every host that has executors."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.commands.tasks import run_task
from indextables.runtime.steps import Steps, run_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.runtime.context import Context, Executor

DRIVER = "driver"


@dataclass(frozen=True)
class Answer:
    """The result of one host."""

    executor_id: str
    host: str
    result: dict[str, Any]


def ask_every_host(context: Context, kind: str, payload: Mapping[str, Any]) -> Steps[list[Answer]]:
    """Run a task here and on every other host that has executors."""
    here = run_task(kind, payload)
    others = executor_hosts(context)
    places = [executor.location for executor in others]
    answers = yield from run_tasks(kind, [payload] * len(others), places)
    return [
        Answer(DRIVER, socket.gethostname(), here),
        *(Answer(e.id, e.host, found) for e, found in zip(others, answers, strict=True)),
    ]


def executor_hosts(context: Context) -> list[Executor]:
    """One executor per host; none when the driver does the work itself."""
    by_host: dict[str, Executor] = {}
    for executor in context.executors():
        if executor.id != DRIVER:
            by_host.setdefault(executor.host, executor)
    return sorted(by_host.values(), key=lambda executor: executor.host)
