"""Independent pieces of work that a door may run anywhere; JSON in, JSON out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.ops.merge_task import run_merge_task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_KINDS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"merge": run_merge_task}


def run_task(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Do one piece of work."""
    return _KINDS[kind](payload)
