"""The query process: reads requests from its standard input, answers on its standard output.

It is a separate process, so that a query that takes too long or too much memory, or that nobody
waits for any more, can be killed, whatever it is doing. Each request and each answer is one line of
JSON. The first line has the locations and the options, including credentials, which are never in
arguments, environment variables or answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any

THREADS = 4


class Worker:
    """Answers requests with a few threads; a request that has not started can be canceled."""

    def __init__(self, out: IO[bytes], setup: dict[str, Any]) -> None:
        from indextables.page.pages import Pages

        self._out = out
        self._pages = Pages(setup["locations"], setup["options"])
        self._pool = ThreadPoolExecutor(THREADS, "page")
        self._lock = threading.Lock()
        self._begun: dict[int, Future[None]] = {}

    def take(self, message: dict[str, Any]) -> None:
        """Start or cancel a request."""
        if "cancel" in message:
            future = self._begun.pop(message["cancel"], None)
            if future is not None and future.cancel():
                self._send(message["cancel"], 499, "", "")
            return
        number = message["id"]
        self._begun[number] = self._pool.submit(self._answer, number, message)

    def _answer(self, number: int, message: dict[str, Any]) -> None:
        status, kind, body = self._pages.answer(message["path"], message["pairs"])
        self._begun.pop(number, None)
        self._send(number, status, kind, body)

    def _send(self, number: int, status: int, kind: str, body: str) -> None:
        self.say({"id": number, "status": status, "kind": kind, "body": body})

    def say(self, message: dict[str, Any]) -> None:
        """Write one line to the server."""
        line = json.dumps(message).encode() + b"\n"
        with self._lock:
            self._out.write(line)
            self._out.flush()


def limit_memory(most: int) -> None:
    """Limit the memory of this process; mapped files do not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))


def main() -> None:
    """Serve until the input ends."""
    # standard output is only for answers: prints of libraries go to standard error
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    setup = json.loads(sys.stdin.buffer.readline())
    limit_memory(setup["memory"])
    worker = Worker(out, setup)
    worker.say({"ready": True})
    with contextlib.suppress(KeyboardInterrupt):
        for line in sys.stdin.buffer:
            worker.take(json.loads(line))
    # the server is gone: running queries are abandoned
    os._exit(0)


if __name__ == "__main__":
    main()
