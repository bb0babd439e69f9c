"""A store on this disk whose requests are lost, get no answer, are late or are sent twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.crash.verbs import VERSION_FILE

from indextables.errors import error
from indextables.storage.store import Store

# what becomes of the put of a version: it never arrives, its answer never does, it arrives when
# nobody waits any more, it arrives twice
NEVER, NO_ANSWER, LATE, TWICE = "never arrives", "no answer", "late", "twice"
KINDS = (NEVER, NO_ANSWER, LATE, TWICE)


@dataclass
class FaultyDisk:
    """Stands in the place of `Store.put`; `rule` says what becomes of a version file's put."""

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
        """Everything that was late arrives."""
        if rng is not None:
            rng.shuffle(self.late)
        for arrive in self.late:
            arrive()
        self.late.clear()


def always(kind: str) -> Callable[[str], str | None]:
    return lambda _: kind


def first(count: int, kind: str) -> Callable[[str], str | None]:
    """The first few puts of versions fail."""
    left = [count]

    def rule(_: str) -> str | None:
        left[0] -= 1
        return kind if left[0] >= 0 else None

    return rule


def drawn(rng: random.Random) -> Callable[[str], str | None]:
    """Any put may fail in any way."""
    chance = rng.choice([0.3, 0.6, 0.9])
    return lambda _: rng.choice(KINDS) if rng.random() < chance else None
