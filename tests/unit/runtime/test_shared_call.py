"""One call serves all waiting threads, and none gets a result from before its own request."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from indextables.errors import error
from indextables.runtime.shared_call import SharedCall

PATIENCE_S = 20


class Counted:
    """Counts its calls; each waits for `go`."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    def __call__(self) -> int:
        self.calls += 1
        mine = self.calls
        self.begun.release()
        assert self.go.acquire(timeout=PATIENCE_S)
        return mine


def waiting(pool, shared, users):
    """Start users of a call that has not begun."""
    futures = [pool.submit(shared) for _ in range(users)]
    deadline = threading.Event()
    while shared.waiting < users:
        deadline.wait(0.005)
    return futures


def test_all_who_wait_get_the_answer_of_one_call_that_began_after_they_asked():
    counted = Counted()
    shared = SharedCall(counted)
    with ThreadPoolExecutor(17) as pool:
        first = pool.submit(shared)
        assert counted.begun.acquire(timeout=PATIENCE_S)
        later = waiting(pool, shared, 16)
        counted.go.release()
        assert first.result(PATIENCE_S) == 1
        assert counted.begun.acquire(timeout=PATIENCE_S)
        counted.go.release()
        assert {each.result(PATIENCE_S) for each in later} == {2}
    assert counted.calls == 2


def test_who_asks_while_a_call_runs_does_not_get_its_answer():
    counted = Counted()
    shared = SharedCall(counted)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shared)
        assert counted.begun.acquire(timeout=PATIENCE_S)
        second = waiting(pool, shared, 1)[0]
        counted.go.release(2)
        assert (first.result(PATIENCE_S), second.result(PATIENCE_S)) == (1, 2)


def test_a_failure_is_that_of_all_who_waited_and_of_nobody_later():
    counted = Counted()
    fails = threading.Event()

    def call() -> int:
        found = counted()
        if fails.is_set():
            raise ValueError(f"call {found}")
        return found

    shared = SharedCall(call)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(shared)
        assert counted.begun.acquire(timeout=PATIENCE_S)
        later = waiting(pool, shared, 3)
        counted.go.release()
        assert first.result(PATIENCE_S) == 1
        assert counted.begun.acquire(timeout=PATIENCE_S)
        fails.set()
        counted.go.release()
        for each in later:
            with pytest.raises(ValueError, match="call 2"):
                each.result(PATIENCE_S)
    fails.clear()
    counted.go.release()
    assert shared() == 3


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), error("INTERRUPTED")])
def test_who_is_interrupted_does_not_interrupt_the_others(interrupt):
    counted = Counted()
    interrupts = threading.Event()

    def call() -> int:
        found = counted()
        if interrupts.is_set():
            interrupts.clear()
            raise interrupt
        return found

    shared = SharedCall(call)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(shared)
        assert counted.begun.acquire(timeout=PATIENCE_S)
        later = waiting(pool, shared, 3)
        interrupts.set()
        counted.go.release()
        with pytest.raises(type(interrupt)):
            first.result(PATIENCE_S)
        counted.go.release()
        assert {each.result(PATIENCE_S) for each in later} == {2}
        later = waiting_after(pool, shared, counted)
        interrupts.set()
        counted.go.release(4)
        ended = [each.exception(PATIENCE_S) for each in later]
    assert sum(e is interrupt for e in ended) == 1
    assert sum(e is None for e in ended) == 2


def waiting_after(pool, shared, counted):
    """Start users that wait while a call runs and then succeeds."""
    first = pool.submit(shared)
    while counted.begun.acquire(blocking=False):
        pass
    while counted.calls < 3:
        threading.Event().wait(0.005)
    later = waiting(pool, shared, 3)
    counted.go.release()
    assert first.result(PATIENCE_S) == 3
    return later
