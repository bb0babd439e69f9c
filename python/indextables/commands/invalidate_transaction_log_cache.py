"""INVALIDATE TRANSACTION LOG CACHE: drop cached snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import Clause, Command, Rule, TargetKind, columns
from indextables.commands.target import Target, locate

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_OUTPUT = columns(
    "table_path string, result string, cache_hits_before bigint, cache_misses_before bigint, "
    "hit_rate_before string"
)


@dataclass(frozen=True)
class InvalidateLogCache(Command):
    """Drop cached snapshots of one table or of all tables."""

    target: Target | None = None


def run(command: InvalidateLogCache, context: Context) -> Steps[list[Row]]:
    """Drop one table or all; the next read loads the log from the store."""
    path = None if command.target is None else (yield from locate(command.target))
    hits, misses = context.invalidate(path)
    total = hits + misses
    return [
        {
            "table_path": path or "GLOBAL",
            "result": "forgotten" if path else "all tables forgotten",
            "cache_hits_before": hits,
            "cache_misses_before": misses,
            "hit_rate_before": f"{100 * hits / total:.1f}%" if total else "N/A",
        }
    ]


RULES = (
    Rule(
        InvalidateLogCache,
        "INVALIDATE IX TRANSACTION LOG CACHE",
        (Clause("FOR", "target", TargetKind()),),
        _OUTPUT,
        run,
    ),
)
