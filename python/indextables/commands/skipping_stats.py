"""DATA SKIPPING STATS: how many splits were pruned in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import DESCRIBE, Command, Rule, columns
from indextables.read.skipping import totals

if TYPE_CHECKING:
    from indextables.read.table import Row
_RESET = columns("cache_type string, status string, cleared_entries bigint, message string")


@dataclass(frozen=True)
class FlushDataSkippingStats(Command):
    """Reset the pruning counters."""


@dataclass(frozen=True)
class InvalidateDataSkippingCache(Command):
    """Reset the pruning counters and caches."""


@dataclass(frozen=True)
class DescribeDataSkippingStats(Command):
    """Show how many splits were pruned."""


def run_describe_skipping_stats() -> list[Row]:
    """Return counters and rates since the process started or the last reset."""
    total = totals()
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
    """Reset the counters."""
    cleared = totals(reset=True).considered
    return [
        {
            "cache_type": "data_skipping",
            "status": "success",
            "cleared_entries": cleared,
            "message": "counters reset; pruning caches nothing else between queries",
        }
    ]


def _rate(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "N/A"


RULES = (
    Rule(
        FlushDataSkippingStats,
        "FLUSH IX DATA SKIPPING STATS",
        (),
        _RESET,
        lambda _command, _context: run_reset_skipping_stats(),
    ),
    Rule(
        InvalidateDataSkippingCache,
        "INVALIDATE IX DATA SKIPPING CACHE",
        (),
        _RESET,
        lambda _command, _context: run_reset_skipping_stats(),
    ),
    Rule(
        DescribeDataSkippingStats,
        f"{DESCRIBE} DATA SKIPPING STATS",
        (),
        columns("metric_type string, metric_name string, metric_value string"),
        lambda _command, _context: run_describe_skipping_stats(),
    ),
)
