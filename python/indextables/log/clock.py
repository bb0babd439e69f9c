"""Time and randomness in one place, so that a simulation can control both."""

from __future__ import annotations

import random
import time


class Clock:
    """The system's clock and random numbers."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(time.time() * 1000)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def jitter(self) -> float:
        """A random factor from 0.5 to 1 that spreads waiting writers."""
        return random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it


def backoff_seconds(attempt: int, base_ms: int, most_ms: int, jitter: float) -> float:
    """How long to wait after an attempt (from 0): doubled each time, up to a limit, with jitter."""
    return float(min(base_ms * 2 ** min(attempt, 30), most_ms)) * jitter / 1000
