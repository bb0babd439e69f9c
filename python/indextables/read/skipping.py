"""How many splits were pruned in this process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indextables.plan.prune import PruneCounters


@dataclass
class Totals:
    """Splits of all scans since the process began or the last reset."""

    considered: int = 0
    by_partition: int = 0
    by_stats: int = 0
    kept: int = 0


_totals = Totals()
_lock = threading.Lock()


def record(counters: PruneCounters) -> None:
    """Add the counts of one scan."""
    with _lock:
        _totals.considered += counters.considered
        _totals.by_partition += counters.pruned_by_partition
        _totals.by_stats += counters.pruned_by_stats
        _totals.kept += counters.kept


def totals(*, reset: bool = False) -> Totals:
    """The counts so far; `reset` starts over."""
    with _lock:
        found = replace(_totals)
        if reset:
            _totals.__dict__.update(vars(Totals()))
    return found
