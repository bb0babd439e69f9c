"""The results of benchmarks: ratios measured side by side in one run, and their bars."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

# warm-up of each side of a comparison
_WARMING_SECONDS = 2


@dataclass(frozen=True)
class Result:
    """One measured value. `bar` is the target: an upper limit if `at_most`, else a lower one."""

    what: str
    value: float
    unit: str = "ratio"
    bar: float | None = None
    at_most: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None without a bar."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar


def median_ms(run: Callable[[], object], repeat: int = 7, warm_up: int = 2) -> float:
    """The median wall time of a call after warm-up."""
    for _ in range(warm_up):
        run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def cpu_seconds(run: Callable[[], object]) -> float:
    """The CPU time of one call in this process, over all threads."""
    start = time.process_time()
    run()
    return time.process_time() - start


def warm(work: Callable[[], object]) -> None:
    """Warm up for a fixed time: the JVM compiles Spark's planner only after many queries."""
    end = time.perf_counter() + _WARMING_SECONDS
    while time.perf_counter() < end:
        work()


def side_by_side_ms(
    one: Callable[[], object], other: Callable[[], object], *, repeat: int = 8
) -> tuple[float, float]:
    """The median wall times of two calls that take turns, so that noise affects both alike.

    They alternate in going first: each pays for the garbage that the previous one left.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeat):
        for side in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            (one, other)[side]()
            times[side].append((time.perf_counter() - start) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])
