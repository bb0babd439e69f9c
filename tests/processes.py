"""Processes of the operating system, for tests that watch or kill them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process of the operating system."""

    pid: int
    name: str
    command: bytes
    parent: int
    session: int


def all_processes() -> list[Process]:
    """All running processes."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            before, _, after = (process / "stat").read_text().rpartition(")")
        except OSError:
            continue  # it has just ended
        state, parent, _, session = after.split()[:4]
        name = before.partition("(")[2]
        if state != "Z":
            found.append(Process(int(process.name), name, command, int(parent), int(session)))
    return found


def of_session(session: int) -> list[Process]:
    """The processes of a session."""
    return [process for process in all_processes() if process.session == session]


def below(pid: int) -> list[Process]:
    """The descendants of a process."""
    everyone = all_processes()
    found, parents = [], {pid}
    while parents:
        children = [process for process in everyone if process.parent in parents]
        found += children
        parents = {process.pid for process in children}
    return found


def python_workers(processes: list[Process]) -> set[int]:
    """The process ids of Spark's Python workers, which are children of a daemon."""
    ours = [process for process in processes if b"pyspark.daemon" in process.command]
    known = {process.pid for process in ours}
    return {process.pid for process in ours if process.parent in known}


def kill(*pids: int) -> None:
    """Kill processes and wait until they are gone: until then, their sockets accept data."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    while any(process.pid in pids for process in all_processes()):
        time.sleep(0.005)
