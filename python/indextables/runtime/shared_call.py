"""One call at a time, whose result all waiting threads share."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from indextables.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class SharedCall(Generic[T]):
    """A function without arguments whose result concurrent threads share.

    Every caller gets the result of a run that started after its call, so a result is never stale.
    Callers that arrive during a run wait for the next one, which runs once for all of them.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._lock = threading.Lock()
        # held during a run
        self._turn = threading.Lock()
        # the next run, if any thread waits for it
        self._next: Future[T] | None = None
        self.waiting = 0

    def __call__(self) -> T:
        """The result of a run that starts after this call."""
        while True:
            with self._lock:
                mine = self._next is None
                answer = self._next = self._next or Future()
                self.waiting += 1
            if mine:
                return self._lead(answer)
            try:
                return answer.result()
            except BaseException as failure:
                if not _is_interrupt(failure) or not _is_raised_by(answer, failure):
                    raise
                # another thread was interrupted during its run: try again

    def _lead(self, answer: Future[T]) -> T:
        """Run for all waiting threads, after the current run has ended."""
        try:
            with self._turn:
                self._close(answer)
                found = self._call()
        except BaseException as failure:
            self._close(answer)
            answer.set_exception(failure)
            raise
        answer.set_result(found)
        return found

    def _close(self, answer: Future[T]) -> None:
        """Stop accepting callers: for later ones the result would be stale."""
        with self._lock:
            if self._next is answer:
                self._next, self.waiting = None, 0


def _is_interrupt(failure: BaseException) -> bool:
    """Whether it concerns the thread in which it was raised, and not the call."""
    if isinstance(failure, IndexTablesError):
        return failure.code == "INTERRUPTED"
    return not isinstance(failure, Exception)


def _is_raised_by(answer: Future[Any], failure: BaseException) -> bool:
    return answer.done() and answer.exception() is failure
