"""A simulation of writers: a seed picks which one runs, over a store that fails in every way.

Every store call is a step: before it another writer may run, the request may be lost, the answer
may be lost, the request may arrive later or twice, a listing may be old, and the writer may die.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from indextables.errors import error
from indextables.log.clock import Clock
from indextables.storage import ObjectMeta, Store


class Crash(BaseException):
    """The process has died: nothing may catch this."""


@dataclass
class Faults:
    """The probability of each kind of failure per store call."""

    before: float = 0.0
    after: float = 0.0
    delayed: float = 0.0
    doubled: float = 0.0
    stale: float = 0.0
    crash: float = 0.0

    @classmethod
    def drawn(cls, rng: random.Random) -> Faults:
        """Draw the failures of a world: some worlds have none, some have all kinds."""
        kinds = {name: rng.choice([0, 0, 0.02, 0.1]) for name in cls.__dataclass_fields__}
        kinds["crash"] = min(kinds["crash"], 0.01)
        return cls(**kinds)


@dataclass
class World:
    """The shared disk of all writers, the random numbers and the order of steps."""

    rng: random.Random
    faults: Faults
    disk: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    late: list[tuple[str, bytes, bool]] = field(default_factory=list)
    now: int = 1_700_000_000_000
    steps: int = 0
    calm: bool = False

    def happens(self, chance: float) -> bool:
        return not self.calm and self.rng.random() < chance

    def write(self, path: str, data: bytes, if_absent: bool) -> bool:
        if if_absent and path in self.disk:
            return False
        self.disk[path] = (data, self.now)
        return True

    def deliver_late(self, everything: bool = False) -> None:
        """Deliver the delayed requests in random order."""
        while self.late and (everything or self.happens(0.3)):
            self.write(*self.late.pop(self.rng.randrange(len(self.late))))


class SimulatedStore(Store):
    """One writer's view of the world's disk."""

    is_remote = False
    has_folders = True

    def __init__(self, world: World, step: Callable[[], None]) -> None:
        super().__init__("sim://table", ("sim://table", "{}"))
        self._world = world
        self._step_aside = step

    def _step(self) -> None:
        self._step_aside()
        self._world.steps += 1
        self._world.now += self._world.rng.randrange(1, 50)
        self._world.deliver_late()
        if self._world.happens(self._world.faults.crash):
            raise Crash

    def _fail(self, path: str):
        raise error("STORAGE_FAILED", path=path, detail="simulated")

    def find(self, path: str) -> bytes | None:
        self._step()
        if self._world.happens(self._world.faults.before):
            self._fail(path)
        found = self._world.disk.get(path)
        return None if found is None else found[0]

    def find_all(self, paths: Sequence[str], parallelism: int) -> list[bytes | None]:
        return [self.find(path) for path in paths]

    def put(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        self._step()
        world, faults = self._world, self._world.faults
        if world.happens(faults.before):
            self._fail(path)
        if world.happens(faults.delayed):
            world.late.append((path, data, if_absent))
            self._fail(path)
        written = world.write(path, data, if_absent)
        if world.happens(faults.doubled):
            written = world.write(path, data, if_absent)
        if world.happens(faults.crash):
            raise Crash
        if world.happens(faults.after):
            self._fail(path)
        return written

    def head(self, path: str) -> ObjectMeta | None:
        self._step()
        found = self._world.disk.get(path)
        return None if found is None else ObjectMeta(path, len(found[0]), found[1])

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        self._step()
        world = self._world
        horizon = world.now - 300 if world.happens(world.faults.stale) else world.now
        for path in sorted(world.disk):
            data, written = world.disk[path]
            if path.startswith(prefix + "/") and path > (start_after or "") and written <= horizon:
                yield ObjectMeta(path, len(data), written)

    def entries(
        self, folder: str, after: str = "", until: str = "\x7f"
    ) -> Iterator[tuple[str, None]]:
        names = {m.path[len(folder) + 1 :].split("/")[0] for m in self.list(folder)}
        yield from ((name, None) for name in sorted(names) if after < name < until)

    def delete(self, paths) -> None:
        for path in paths:
            self._step()
            if self._world.happens(self._world.faults.before):
                self._fail(path)
            self._world.disk.pop(path, None)

    def remove_empty(self, folder: str) -> None:
        """Do nothing: this store has no folders."""


class SimulatedClock(Clock):
    """The world's time; while a writer waits, others may run."""

    def __init__(self, world: World, step: Callable[[], None]) -> None:
        self._world = world
        self._step_aside = step

    def now_ms(self) -> int:
        return self._world.now

    def sleep(self, seconds: float) -> None:
        self._world.now += int(seconds * 1000)
        self._step_aside()

    def jitter(self) -> float:
        return self._world.rng.uniform(0.5, 1.0)


class Actor:
    """A writer on its own thread that runs only when the simulation schedules it."""

    def __init__(self, work: Callable[[Actor], None]) -> None:
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._work = work
        self.alive = True
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            self._work(self)
        except Crash:
            pass
        except BaseException as failure:  # noqa: BLE001 - reported by the scheduler
            self.failure = failure
        self.alive = False
        self._back.release()

    def step_aside(self) -> None:
        """Let others run."""
        self._back.release()
        self._go.acquire()

    def resume(self) -> None:
        """Run until the next step."""
        self._go.release()
        self._back.acquire()
        if self.failure is not None:
            raise self.failure


def run_all(world: World, works: Sequence[Callable[[Actor], None]]) -> None:
    """Run all writers to completion, in an order drawn from the seed."""
    actors = [Actor(work) for work in works]
    while alive := [actor for actor in actors if actor.alive]:
        world.rng.choice(alive).resume()
    world.deliver_late(everything=True)
