"""Values that are computed at first use."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from indextables.runtime.lazy import lazy


@dataclass(frozen=True)
class Word:
    text: str
    calls: list[str] = field(default_factory=list)

    @lazy
    def length(self) -> int:
        """The number of characters."""
        self.calls.append(self.text)
        return len(self.text)


def test_a_value_is_computed_once_per_object():
    word, other = Word("timeout"), Word("reset")
    assert word.calls == []
    assert (word.length, word.length, other.length) == (7, 7, 5)
    assert word.calls == ["timeout"]


def test_the_class_shows_what_a_value_is():
    assert Word.length.__doc__ == "The number of characters."


def test_slow_values_of_other_objects_are_not_waited_for():
    begun, done = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, *, wait: bool) -> None:
            self.wait = wait

        @lazy
        def value(self) -> bool:
            if self.wait:
                begun.set()
                return done.wait(30)
            return True

    slow = Slow(wait=True)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert begun.wait(30)
    # with one lock per class this would wait until the other thread is done
    assert Slow(wait=False).value
    assert not done.is_set()
    done.set()
    thread.join()
    assert slow.value
