"""Independent tasks that can run anywhere; JSON in, JSON out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# kind -> where it lives; imported where it runs
_KINDS = {
    "companion": "commands.companion_task:run_companion_task",
    "component_sizes": "commands.describe_component_sizes:run_component_sizes_task",
    "delete": "commands.delete_task:run_delete_task",
    "disk_cache": "commands.caches:run_usage_task",
    "environment": "commands.describe_environment:run_environment_task",
    "flush_disk_cache": "commands.caches:run_flush_task",
    "list_orphans": "commands.list_task:run_list_task",
    "merge": "commands.merge_task:run_merge_task",
    "prewarm": "commands.prewarm_task:run_prewarm_task",
    "prewarm_jobs": "commands.prewarm_jobs:run_list_task",
    "start_prewarm": "commands.prewarm_jobs:run_start_task",
    "stats": "runtime.process_stats:run_stats_task",
    "wait_prewarm": "commands.prewarm_jobs:run_wait_task",
}


def run_task(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Do one piece of work."""
    module, name = _KINDS[kind].split(":")
    run: Callable[[Mapping[str, Any]], dict[str, Any]]
    run = getattr(import_module(f"indextables.{module}"), name)
    return run(payload)
