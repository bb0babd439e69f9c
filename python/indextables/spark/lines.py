"""Direct connections from the hooks to the planner process.

Calling a Python worker through Spark takes about a millisecond, several times per query, and two
concurrent calls start a second worker with empty caches. A line is a socket that stays open and
carries one call after another; each has its own thread here, so all queries share one process.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from indextables.engine.store import Cancel
from indextables.runtime.host_files import host_folder
from indextables.spark.planner import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from indextables.spark.request import Request

# the operating system's limit for the path of a socket
_LONGEST_NAME = 100
# seconds between two checks whether callers have hung up
_LOOK_EVERY = 0.2
_calls: dict[socket.socket, Cancel] = {}
_busy = threading.Event()


def listen(request: Request) -> dict[str, Any]:
    """The socket of this process; empty if there is none: then calls go through Spark's runner."""
    # only this user may enter the folder
    file = host_folder(request.app, "planner") / f"{os.getpid()}.sock"
    if not hasattr(socket, "AF_UNIX") or len(os.fsencode(file)) > _LONGEST_NAME:
        return {}
    _open(file)
    return {"path": str(file)}


@lru_cache(maxsize=1)
def _open(file: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    file.unlink(missing_ok=True)  # left by an earlier process with the same pid
    server.bind(str(file))
    server.listen()
    threading.Thread(target=_accept, args=(server,), daemon=True, name="indextables lines").start()
    return server


def _accept(server: socket.socket) -> None:
    while True:
        line, _ = server.accept()
        threading.Thread(target=answer, args=(line,), daemon=True, name="indextables line").start()


def answer(line: socket.socket) -> None:
    """Answer the calls of a line until its caller hangs up."""
    _watch()
    # closing flushes the answer to a caller that has hung up, which fails
    with (
        contextlib.suppress(EOFError, OSError),
        line,
        line.makefile("rb") as source,
        line.makefile("wb") as sink,
    ):
        while True:
            serve(source, sink, partial(_watched, line))
            sink.flush()


@contextlib.contextmanager
def _watched(line: socket.socket) -> Iterator[None]:
    """Stop the engine's work when the caller hangs up, because its query was canceled."""
    cancel = Cancel()
    _calls[line] = cancel
    _busy.set()
    try:
        with cancel:
            yield
    finally:
        del _calls[line]


@lru_cache(maxsize=1)
def _watch() -> None:
    threading.Thread(target=_look, daemon=True, name="indextables callers").start()


def _look() -> None:
    while _busy.wait():
        time.sleep(_LOOK_EVERY)
        _busy.clear()
        for line, cancel in list(_calls.items()):
            _busy.set()
            if _has_hung_up(line):
                cancel.ask()


def _has_hung_up(line: socket.socket) -> bool:
    try:
        # a caller that waits for an answer sends nothing
        return not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
