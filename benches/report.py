"""How a benchmark says what it measured: a ratio taken side by side in one run, and its bar."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

# what either side of a comparison gets before it is measured
_WARMING_SECONDS = 2


@dataclass(frozen=True)
class Result:
    """One measured line. `bar` is the promise; `at_most` tells on which side of it we must be."""

    what: str
    value: float
    unit: str = "ratio"
    bar: float | None = None
    at_most: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where there is none."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar


def median_ms(run: Callable[[], object], repeat: int = 7, warm_up: int = 2) -> float:
    """The median wall time of a call, after warming up."""
    for _ in range(warm_up):
        run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def cpu_seconds(run: Callable[[], object]) -> float:
    """The CPU time of one call in this process, all threads."""
    start = time.process_time()
    run()
    return time.process_time() - start


def warm(work: Callable[[], object]) -> None:
    """As much time for either side: Spark's own planning is compiled only after many queries."""
    end = time.perf_counter() + _WARMING_SECONDS
    while time.perf_counter() < end:
        work()


def side_by_side_ms(
    one: Callable[[], object], other: Callable[[], object], *, repeat: int = 8
) -> tuple[float, float]:
    """The median wall times of two calls that take turns: what disturbs one disturbs the other.

    Now one goes first, now the other: each pays for the garbage that the one before it left.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeat):
        for place in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            (one, other)[place]()
            times[place].append((time.perf_counter() - start) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])
