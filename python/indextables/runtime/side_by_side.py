"""Process several items concurrently; an interrupt of the caller stops the work."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from indextables.engine.store import Cancel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

A = TypeVar("A")
T = TypeVar("T")


def side_by_side(work: Callable[[A], T], items: Sequence[A], threads: int) -> list[T]:
    """The results of a function for some items, in order; the first failure stops the rest.

    The calling thread takes part: it processes items that no other thread has started.
    """
    if min(threads, len(items)) <= 1:
        return [work(item) for item in items]
    first, *others = items
    cancel = Cancel()
    begun: list[Future[T]] = []

    def stoppable(item: A) -> T:
        with cancel:
            return work(item)

    try:
        begun.extend(_pool(threads - 1).submit(stoppable, item) for item in others)
        done = [work(first)]
        for item, future in zip(others, begun, strict=True):
            done.append(work(item) if future.cancel() else future.result())
    except BaseException as failure:
        # an interrupt of this thread does not reach the others, which may wait for a silent store
        cancel.ask()
        under_way = [future for future in begun if not future.cancel()]
        if isinstance(failure, Exception):
            wait(under_way)  # cleanup after a failure must not overlap with running calls
        raise
    return done


@lru_cache(maxsize=2)
def _pool(threads: int) -> ThreadPoolExecutor:
    """A cached thread pool: starting threads would take longer than a small query."""
    return ThreadPoolExecutor(threads, "indextables")


# a forked worker has none of its parent's threads
os.register_at_fork(after_in_child=_pool.cache_clear)
