"""The query process as the server sees it: requests, timeouts, restarts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

TIME_LIMIT = 30.0
# an abandoned query may finish within this time, so that the next one finds warm caches
GRACE = 2.0
MOST_MEMORY = 4 << 30
_LINE_LIMIT = 64 << 20
_PACKAGES = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Answer:
    """An answer of the query process: an HTTP status, a content type and a body."""

    status: int
    kind: str
    body: str


PROBLEM = "problem"
ENDED = Answer(503, PROBLEM, "The query was stopped: it needed more memory than the page may use.")
_TOO_LONG = "The query took longer than {limit:g} seconds and was stopped."


class QueryProcess:
    """One child process; if it has to be killed, the next request starts another."""

    def __init__(
        self,
        locations: Sequence[str],
        options: Mapping[str, str],
        *,
        time_limit: float = TIME_LIMIT,
        grace: float = GRACE,
        memory: int | None = None,
    ) -> None:
        self._setup = {
            "locations": list(locations),
            "options": dict(options),
            "memory": memory or min(MOST_MEMORY, _physical() // 2),
        }
        self._time_limit, self._grace = time_limit, grace
        self._child: _Child | None = None
        self._starting = asyncio.Lock()
        self._watching: set[asyncio.Task[None]] = set()

    async def ask(self, path: str, pairs: Sequence[tuple[str, str]]) -> Answer:
        """The answer to a request; canceling this call abandons the query."""
        answer = await self._ask(path, pairs)
        # killed because of another request: try this one again
        return await self._ask(path, pairs) if answer is ENDED else answer

    async def start(self) -> None:
        """Start the process before the first request needs it, without waiting for it."""
        await self._spawned()

    async def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.end()
            await self._child.process.wait()

    @property
    def pid(self) -> int | None:
        """The id of the running process."""
        return self._child.process.pid if self._child is not None and self._child.runs else None

    async def _ask(self, path: str, pairs: Sequence[tuple[str, str]]) -> Answer:
        child = await self._spawned()
        # loading libraries does not count as query time
        await child.ready.wait()
        if not child.runs:
            return ENDED
        number, future = child.send(path, pairs)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._time_limit)
        except TimeoutError:
            child.end()
            return Answer(504, PROBLEM, _TOO_LONG.format(limit=self._time_limit))
        except asyncio.CancelledError:
            child.write({"cancel": number})
            self._keep(asyncio.create_task(self._give_up(child, future)))
            raise

    async def _give_up(self, child: _Child, future: asyncio.Future[Answer]) -> None:
        """Kill the process if an abandoned query does not finish."""
        done, _ = await asyncio.wait({future}, timeout=self._grace)
        if not done:
            child.end()

    async def _spawned(self) -> _Child:
        async with self._starting:
            if self._child is None or not self._child.runs:
                self._child = _Child(await _start())
                self._child.write(self._setup)
                self._keep(asyncio.create_task(self._child.read()))
            return self._child

    def _keep(self, task: asyncio.Task[None]) -> None:
        # the event loop itself holds tasks only weakly
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)


class _Child:
    """A running process and the requests it has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ready = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._numbers = count()

    @property
    def runs(self) -> bool:
        return self.process.returncode is None

    def send(
        self, path: str, pairs: Sequence[tuple[str, str]]
    ) -> tuple[int, asyncio.Future[Answer]]:
        number = next(self._numbers)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self.write({"id": number, "path": path, "pairs": list(pairs)})
        return number, future

    def write(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def read(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # an answer that exceeds every limit
            async for line in self.process.stdout:
                found = json.loads(line)
                if "ready" in found:
                    self.ready.set()
                    continue
                future = self._waiting.pop(found["id"], None)
                if future is not None and not future.done():
                    future.set_result(Answer(found["status"], found["kind"], found["body"]))
        self.end()
        await self.process.wait()
        self.ready.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_result(ENDED)
        self._waiting.clear()

    def end(self) -> None:
        if self.runs:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()


async def _start() -> asyncio.subprocess.Process:
    known = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, (str(_PACKAGES), known)))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "indextables.page.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_LIMIT,
        env={**os.environ, "PYTHONPATH": path},
        # Ctrl-C is for the server, which ends this process by closing its input
        start_new_session=True,
    )


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
