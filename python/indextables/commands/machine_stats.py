"""Counters of all machines, for commands that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.runtime import handles
from indextables.runtime.hosts import Answer, ask_every_host

if TYPE_CHECKING:
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps


def machine_stats(context: Context, reset: str | None = None) -> Steps[list[Answer]]:
    """What the processes of every machine did; with `reset` those counters start anew."""
    payload = {
        "app": context.app(),
        "reset": reset,
        "profiled": handles.orders(context.app()).profiled,
    }
    # the process that is asked adds its own; a worker on another machine has done so after its task
    return (yield from ask_every_host(context, "stats", payload | {"own": True}))
