"""A Spark driver in a separate process that runs functions for tests.

A process can hold one Spark context, and the test process already holds a local one. Functions are
sent by name, so they must be in modules; what they return or raise is sent back.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tests.processes import below

P = ParamSpec("P")
T = TypeVar("T")

SMALL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": os.environ.get("INDEXTABLES_TEST_LOG", "OFF"),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    # one core on each worker
    "spark.cores.max": "3",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    # wait for three executors before the first job, so that its tasks run on all of them
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
}


@dataclass(frozen=True)
class Driver:
    """A driver that waits for work."""

    pool: ProcessPoolExecutor
    pid: int

    def start(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> Future[T]:
        """Start a function in the driver, where `SparkSession.active()` is the session."""
        return self.pool.submit(work, *args, **named)

    def run(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Run a function in the driver and return its result."""
        return self.start(work, *args, **named).result(timeout=500)


@contextlib.contextmanager
def driver(
    master: str,
    folder: Path,
    conf: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Driver]:
    """Run a driver of one application until the end of the block."""
    settings = {**SMALL, "spark.sql.warehouse.dir": str(folder / "warehouse"), **(conf or {})}
    setup = (master, settings, dict(environment or {}))
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, mp_context=context, initializer=begin, initargs=setup)
    pid = pool.submit(os.getpid).result(timeout=300)
    try:
        yield Driver(pool, pid)
    finally:
        everyone = [process.pid for process in below(pid)]
        with contextlib.suppress(BrokenProcessPool):  # a test has killed it
            stopped = pool.submit(end)
            wait([stopped], timeout=20)
            if not stopped.done():  # a test has failed while its work was running
                os.kill(pid, signal.SIGKILL)
        pool.shutdown()
        for left in everyone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)


def begin(master: str, conf: Mapping[str, str], environment: Mapping[str, Any]) -> None:
    """Start the session in the driver's process."""
    from pyspark.sql import SparkSession

    import indextables

    os.environ.pop("SPARK_HOME", None)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.update(environment)
    builder = SparkSession.builder.master(master).appName("indextables cluster tests")
    for key, value in conf.items():
        builder = builder.config(key, value)
    indextables.configure(builder).getOrCreate()


def end() -> None:
    """Stop the session, so that its executors end before the cluster does."""
    from pyspark.sql import SparkSession

    SparkSession.active().stop()
