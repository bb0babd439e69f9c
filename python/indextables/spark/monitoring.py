"""Counters since the planner's last answer, sent with every answer for Spark's metrics system."""

from __future__ import annotations

import threading

from indextables.runtime.counts import count, take_counts
from indextables.runtime.process_stats import Fetched, fetched

_lock = threading.Lock()
_told = Fetched(0, 0, 0, 0, 0)


def new_counts() -> dict[str, int]:
    """Events of the log, requests and cache hits since the last report."""
    global _told
    with _lock:
        now = fetched()
        new, _told = (now - _told).metrics(), now
    for name, number in new.items():
        # counters of caches restart when they are flushed
        if number > 0:
            count(name, number)
    return take_counts()
