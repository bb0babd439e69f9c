"""Requests of a store by kind, and bytes, so that tests can bound them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

Counts = tuple[list[tuple[str, int]], int, int]


class Counters:
    """Requests and bytes of one store since the last reset; the engine counts."""

    def __init__(self, count: Callable[[], Counts]) -> None:
        self._count = count
        self._before: Counts = ([], 0, 0)

    @property
    def requests(self) -> Counter[str]:
        """Requests by kind: get, put, head, list, delete, part, hedge."""
        return Counter(dict(self._count()[0])) - Counter(dict(self._before[0]))

    @property
    def bytes_read(self) -> int:
        """Bytes that were read."""
        return self._count()[1] - self._before[1]

    @property
    def bytes_written(self) -> int:
        """Bytes that were written."""
        return self._count()[2] - self._before[2]

    def reset(self) -> None:
        """Reset the counters."""
        self._before = self._count()
