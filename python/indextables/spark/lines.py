"""Direct connections from the hooks to the planner process.

Calling a Python worker through Spark takes about a millisecond, several times per query, and two
concurrent calls start a second worker with empty caches. A line is a socket that stays open and
carries one call after another; each has its own thread here, so all queries share one process.
"""

from __future__ import annotations

import os
import socket
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from indextables.runtime.host_files import host_folder
from indextables.spark.planner import serve

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.spark.request import Request

# the operating system's limit for the path of a socket
_LONGEST_NAME = 100


def listen(request: Request) -> dict[str, Any]:
    """The socket of this process; empty if there is none, so that Spark's own way is used."""
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
        threading.Thread(target=_answer, args=(line,), daemon=True, name="indextables line").start()


def _answer(line: socket.socket) -> None:
    with line, line.makefile("rb") as source, line.makefile("wb") as sink:
        try:
            while True:
                serve(source, sink)
                sink.flush()
        except (EOFError, OSError):
            return  # hung up
