"""A local store whose requests are lost, get no answer, arrive late or arrive twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.crash.verbs import VERSION_FILE

from indextables.errors import error
from indextables.storage.store import Store

# faults of the put of a version: the request never arrives, its answer never arrives, the request
# arrives after its caller has given up, it arrives twice
NEVER, NO_ANSWER, LATE, TWICE = "never arrives", "no answer", "late", "twice"
KINDS = (NEVER, NO_ANSWER, LATE, TWICE)


@dataclass
class FaultyDisk:
    """Replaces `Store.put`; `rule` chooses the fault of each put of a version file."""

    rule: Callable[[str], str | None]
    late: list[Callable[[], Any]] = field(default_factory=list)
    hit: int = 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        whole = Store.put

        def put(store: Store, path: str, data: bytes, *, if_absent: bool = False) -> bool:
            fault = self.rule(path) if VERSION_FILE.search(path) else None
            if fault is None:
                return whole(store, path, data, if_absent=if_absent)
            self.hit += 1
            failed = error("STORAGE_FAILED", path=path, detail=f"planted: {fault}")
            if fault == NEVER:
                raise failed
            if fault == LATE:
                self.late.append(lambda: whole(store, path, data, if_absent=if_absent))
                raise failed
            written = whole(store, path, data, if_absent=if_absent)
            if fault == NO_ANSWER:
                raise failed
            return whole(store, path, data, if_absent=if_absent) and written

        patch.setattr(Store, "put", put)

    def deliver(self, rng: random.Random | None = None) -> None:
        """Deliver all late requests."""
        if rng is not None:
            rng.shuffle(self.late)
        for arrive in self.late:
            arrive()
        self.late.clear()


def always(kind: str) -> Callable[[str], str | None]:
    return lambda _: kind


def first(count: int, kind: str) -> Callable[[str], str | None]:
    """A rule that fails the first `count` puts."""
    left = [count]

    def rule(_: str) -> str | None:
        left[0] -= 1
        return kind if left[0] >= 0 else None

    return rule


def drawn(rng: random.Random) -> Callable[[str], str | None]:
    """A rule that fails puts at random."""
    chance = rng.choice([0.3, 0.6, 0.9])
    return lambda _: rng.choice(KINDS) if rng.random() < chance else None
