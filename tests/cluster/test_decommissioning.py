"""Hosts leave a cluster while it works, like spot instances.

A decommissioned executor finishes its tasks and stops, unless its host disappears first.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import pytest
from tests.cluster import work
from tests.cluster.holding import Holding, holding, wait_until
from tests.cluster.standalone import Cluster, standalone
from tests.crash.test_kill import check_purge
from tests.processes import all_processes, below

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]
ENABLED = "spark.decommission.enabled"
ROWS = 900


@dataclass(frozen=True)
class Leaving:
    """An application on a cluster whose hosts leave at the test's command."""

    cluster: Cluster
    application: Holding

    def take_host(self, executor: int, *, at_once: bool) -> None:
        """Decommission the host of an executor; return when the executor knows, or has stopped."""
        parents = {process.pid: process.parent for process in all_processes()}
        (number,) = (
            i for i, worker in enumerate(self.cluster.workers) if worker.pid == parents[executor]
        )
        worker = self.cluster.workers[number]
        os.kill(worker.pid, signal.SIGPWR)
        logs = self.cluster.scratch[number].parent / "work"
        wait_until(lambda: says(logs, "Decommission executor"), "no decommissioning")
        if at_once:
            for pid in (worker.pid, *(process.pid for process in below(worker.pid))):
                os.kill(pid, signal.SIGKILL)


def is_gone(pid: int) -> bool:
    return all(process.pid != pid for process in all_processes())


def says(logs, text: str) -> bool:
    return any(text in file.read_text(errors="replace") for file in logs.glob("*/*/stderr"))


@pytest.fixture(scope="module")
def leaving(tmp_path_factory):
    """A cluster whose hosts leave one by one until two are left."""
    hosts = len(WORK) * 2 + 2
    conf = {ENABLED: "true", "spark.indextables.read.local.enabled": "false"}
    with (
        standalone(tmp_path_factory.mktemp("cluster"), hosts, f"-D{ENABLED}=true") as cluster,
        holding(cluster, tmp_path_factory.mktemp("held"), conf) as application,
    ):
        yield Leaving(cluster, application)


WORK = {
    "write": ("writes", "save", (ROWS, 2 * ROWS)),
    "scan": ("reads", "ids", ()),
    "DELETE": ("writes", "delete_some", ()),
}


@pytest.mark.parametrize("at_once", [False, True], ids=["in time", "at once"])
@pytest.mark.parametrize("name", WORK)
def test_work_goes_on_when_a_host_leaves(leaving, table_path, name, at_once):
    application, (held, call, args) = leaving.application, WORK[name]
    spark = application.driver
    spark.run(work.save, table_path, 0, ROWS)
    known = spark.run(work.versions, table_path)
    application.hold(held)
    running = spark.start(work.attempt, call, table_path, *args)
    executor = application.wait_for_executor()
    leaving.take_host(executor, at_once=at_once)
    application.release()
    found, problem = running.result(timeout=300)
    assert problem == ""
    expected, commits = outcome(name)
    if name == "scan":
        assert found == expected
    assert spark.run(work.ids, table_path) == expected
    assert spark.run(work.versions, table_path) - known == commits
    wait_until(lambda: is_gone(executor), "the executor stays")
    check_purge(table_path)
    assert spark.run(work.ids, table_path) == expected


def outcome(name: str) -> tuple[list[int], int]:
    """The ids of the table after the work, and the commits that it makes."""
    if name == "write":
        return list(range(2 * ROWS)), 1
    if name == "DELETE":
        return [i for i in range(ROWS) if i % work.SOME], 1
    return list(range(ROWS)), 0
