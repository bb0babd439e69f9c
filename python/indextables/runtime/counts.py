"""Counters of this process for monitoring."""

from __future__ import annotations

import threading
from collections import Counter

_counts: Counter[str] = Counter()
_lock = threading.Lock()


def count(name: str, number: int = 1) -> None:
    """Count an event, by a name that jvm/src/Monitoring.scala knows."""
    with _lock:
        _counts[name] += number


def take_counts() -> dict[str, int]:
    """The counts since the last call."""
    with _lock:
        taken = dict(_counts)
        _counts.clear()
    return taken
