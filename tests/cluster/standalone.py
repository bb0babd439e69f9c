"""A Spark standalone cluster on loopback; each worker has its own address and folders."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.connect.server import HOME, environment
from tests.processes import Process, below

_PATIENCE_S = 180
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    url: str
    workers: tuple[subprocess.Popen[bytes], ...]
    # TMPDIR of each worker and its child processes
    scratch: tuple[Path, ...]

    def executors(self) -> list[Process]:
        """The JVMs of the executors of all applications."""
        return [p for worker in self.workers for p in below(worker.pid) if p.name == "java"]


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 3, java_options: str = "") -> Iterator[Cluster]:
    """Start a cluster; at the end, stop it and all its processes."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        started.append(_start("master.Master", options, folder / "master", java_options))
        url = _wait_for(_MASTER, folder / "master", started[0])
        for number in range(workers):
            home = folder / f"worker-{number}"
            options = ["--host", f"127.0.0.{number + 2}", "--port", "0", "--webui-port", "0"]
            options += ["--cores", "2", "--memory", "1g", "--work-dir", str(home / "work")]
            started.append(_start("worker.Worker", [*options, url], home, java_options))
        for number in range(workers):
            ready = re.compile("Successfully registered with (master)")
            _wait_for(ready, folder / f"worker-{number}", started[number + 1])
        scratch = [folder / f"worker-{number}" / "tmp" for number in range(workers)]
        yield Cluster(url, tuple(started[1:]), tuple(scratch))
    finally:
        for process in reversed(started):
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and its descendants."""
    everyone = [p.pid for p in below(process.pid)]
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in everyone:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _start(
    name: str, options: list[str], folder: Path, java_options: str
) -> subprocess.Popen[bytes]:
    scratch = folder / "tmp"
    scratch.mkdir(parents=True)
    env = {
        **environment(),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": java_options,
        "SPARK_LOCAL_DIRS": str(scratch),
        # visible to one worker only, like the disk of a separate host
        "TMPDIR": str(scratch),
    }
    # `exec`, so that the JVM is the process to stop
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=log)


def _wait_for(text: re.Pattern[str], folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait for the line that a daemon logs when it is ready."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        found = text.search((folder / "log").read_text())
        if found is not None:
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"{folder.name} did not start: {(folder / 'log').read_text()[-2000:]}")
