"""Waiting for a store so that Ctrl-C is heard: Python tells signals to its main thread alone.

What waits for the network does so in threads that do not keep the process alive; an interrupt ends
the wait of the main thread at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def hearing(work: Callable[[], T]) -> T:
    """Do work that may wait for long."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    return hearing_all(lambda _: work(), [None], 1)[0]


def hearing_all(work: Callable[[U], T], items: Sequence[U], at_once: int) -> list[T]:
    """Do work on each item, some at the same time; the results in order."""
    results: list[Future[T]] = [Future() for _ in items]
    left = iter(list(zip(items, results, strict=True)))
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                item, result = next(left, (None, None))
            if result is None:
                return
            try:
                result.set_result(work(item))  # type: ignore[arg-type]
            except BaseException as failure:  # noqa: BLE001 (raised again where it is waited for)
                result.set_exception(failure)

    for _ in range(min(at_once, len(results))):
        threading.Thread(target=run, daemon=True, name="indextables-store").start()
    return [result.result() for result in results]
