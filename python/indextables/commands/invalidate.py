"""INVALIDATE TRANSACTION LOG CACHE: forget what was read of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context


def run_invalidate(path: str | None, context: Context) -> list[Row]:
    """Forget one table or all; the next read looks at the store."""
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
