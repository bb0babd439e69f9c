"""DATA SKIPPING STATS: how many splits pruning has saved in this process."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indextables.ops.opened import Row
    from indextables.plan.prune import PruneCounters


@dataclass
class _Totals:
    considered: int = 0
    by_partition: int = 0
    by_stats: int = 0
    kept: int = 0


_totals = _Totals()
_lock = threading.Lock()


def record(counters: PruneCounters) -> None:
    """Count what one scan left out; called wherever a scan is planned."""
    with _lock:
        _totals.considered += counters.considered
        _totals.by_partition += counters.pruned_by_partition
        _totals.by_stats += counters.pruned_by_stats
        _totals.kept += counters.kept


def run_describe_skipping_stats() -> list[Row]:
    """Counters and rates since the process began or the last reset."""
    total = _totals
    skipped = total.by_partition + total.by_stats
    metrics = {
        "total_files_considered": str(total.considered),
        "partition_pruned_files": str(total.by_partition),
        "data_skipped_files": str(total.by_stats),
        "final_files_scanned": str(total.kept),
        "partition_skip_rate": _rate(total.by_partition, total.considered),
        "data_skip_rate": _rate(total.by_stats, total.considered),
        "total_skip_rate": _rate(skipped, total.considered),
    }
    return [
        {"metric_type": "data_skipping", "metric_name": name, "metric_value": value}
        for name, value in metrics.items()
    ]


def run_reset_skipping_stats() -> list[Row]:
    """Start counting anew."""
    with _lock:
        cleared = _totals.considered
        _totals.__dict__.update(vars(_Totals()))
    return [
        {
            "cache_type": "data_skipping",
            "status": "success",
            "cleared_entries": cleared,
            "message": "counters reset; pruning keeps nothing else between queries",
        }
    ]


def _rate(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "N/A"
