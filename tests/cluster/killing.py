"""The processes of an application on a cluster, by role, for tests that kill them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from tests.cluster.driver import Driver
from tests.cluster.standalone import Cluster
from tests.processes import Process, below, python_workers


def executors(cluster: Cluster, driver: Driver) -> list[int]:
    """One executor with its Python workers, as when its host is lost."""
    found = [process.pid for process in cluster.executors()]
    chosen = found[:1]
    return [*chosen, *(process.pid for pid in chosen for process in below(pid))]


def workers(cluster: Cluster, driver: Driver) -> list[int]:
    """All Python workers of the executors."""
    everyone = [process for pid in cluster.executors() for process in below(pid.pid)]
    return sorted(python_workers(everyone))


def daemons(cluster: Cluster, driver: Driver) -> list[int]:
    """All Python processes of the executors."""
    everyone = [process for pid in cluster.executors() for process in below(pid.pid)]
    return [process.pid for process in everyone if b"pyspark.daemon" in process.command]


def planner(cluster: Cluster, driver: Driver) -> list[int]:
    """The planner process."""
    return sorted(python_workers(_planners(driver)))


def planner_and_daemon(cluster: Cluster, driver: Driver) -> list[int]:
    """The planner process and the daemon that Spark forks it from."""
    return [process.pid for process in _planners(driver)]


def _planners(driver: Driver) -> list[Process]:
    name = b"pyspark_indextables.planner"
    return [process for process in below(driver.pid) if name in process.command]


VICTIMS: Mapping[str, Callable[[Cluster, Driver], list[int]]] = MappingProxyType(
    {
        "executor": executors,
        "workers": workers,
        "daemons": daemons,
        "planner": planner,
        "planner and daemon": planner_and_daemon,
    }
)


@contextlib.contextmanager
def killed(
    cluster: Cluster, driver: Driver, victim: str, chance: random.Random, most_seconds: float
) -> Iterator[None]:
    """Kill processes at a random time during the block."""

    def kill() -> None:
        found = VICTIMS[victim](cluster, driver)
        chance.shuffle(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(chance.uniform(0, most_seconds), kill)
    timer.start()
    try:
        yield
    finally:
        timer.join()
