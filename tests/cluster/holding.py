"""An application whose tasks wait for the test (see `held.py`)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.driver import Driver, driver
from tests.cluster.standalone import Cluster
from tests.processes import all_processes

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 240


@dataclass(frozen=True)
class Holding:
    """A driver, and the folder whose files tell its tasks to wait."""

    driver: Driver
    folder: Path

    def hold(self, what: str) -> None:
        """Make the tasks wait that read ("reads") or write ("writes")."""
        for file in self.folder.glob("*.held"):
            file.unlink()
        (self.folder / f"hold-{what}").touch()

    def wait_for_executor(self) -> int:
        """Wait until a task waits, and return its executor."""
        wait_until(lambda: any(self.folder.glob("*.held")), "no task waits")
        return _executor_of(min(int(file.stem) for file in self.folder.glob("*.held")))

    def release(self) -> None:
        """Let all tasks continue."""
        for word in self.folder.glob("hold-*"):
            word.unlink()


@contextlib.contextmanager
def holding(
    cluster: Cluster, folder: Path, conf: Mapping[str, str] | None = None
) -> Iterator[Holding]:
    """Run an application on a cluster until the end of the block."""
    settings = {
        "spark.python.daemon.module": "tests.cluster.held",
        "spark.executorEnv.HOLD": str(folder),
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        **(conf or {}),
    }
    here = {"HOLD": str(folder), "PYTHONPATH": str(ROOT)}
    with driver(cluster.url, folder, settings, here) as found:
        yield Holding(found, folder)


def wait_until(reached: Callable[[], object], problem: str) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + _PATIENCE_S
    while not reached():
        assert time.monotonic() < end, problem
        time.sleep(0.05)


def _executor_of(worker: int) -> int:
    """The JVM that is an ancestor of a Python worker."""
    everyone = {process.pid: process for process in all_processes()}
    found = everyone[worker]
    while found.name != "java":
        found = everyone[found.parent]
    return found.pid
