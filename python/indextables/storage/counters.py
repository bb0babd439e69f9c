"""What a store was asked for: requests by kind and bytes, so that tests can bound them."""

from __future__ import annotations

import threading
from collections import Counter


class Counters:
    """Requests and bytes of one store; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[str] = Counter()
        self.bytes_read = 0
        self.bytes_written = 0

    def add(self, kind: str, *, read: int = 0, written: int = 0) -> None:
        """Record one request."""
        with self._lock:
            self.requests[kind] += 1
            self.bytes_read += read
            self.bytes_written += written

    def reset(self) -> None:
        """Start anew."""
        with self._lock:
            self.requests.clear()
            self.bytes_read = self.bytes_written = 0
