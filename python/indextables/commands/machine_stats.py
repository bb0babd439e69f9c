"""Counters of all hosts, for commands that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.commands.hosts import Answer, ask_every_host
from indextables.runtime import handles

if TYPE_CHECKING:
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps


def machine_stats(context: Context, reset: str | None = None) -> Steps[list[Answer]]:
    """Return the counters of the processes of every host; `reset` sets them to zero."""
    payload = {
        "app": context.app(),
        "reset": reset,
        "profiled": handles.orders(context.app()).profiled,
    }
    # this process adds its own counters; workers on other hosts did so after their tasks
    return (yield from ask_every_host(context, "stats", payload | {"own": True}))
