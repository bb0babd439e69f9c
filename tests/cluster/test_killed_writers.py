"""An executor dies after its tasks have written and before they report."""

from __future__ import annotations

import os
import signal
import time

import pytest
from tests.cluster import work
from tests.cluster.driver import driver
from tests.cluster.held import held
from tests.processes import all_processes, below

pytestmark = pytest.mark.spark
_PATIENCE_S = 60


@pytest.fixture(scope="module")
def application(cluster, tmp_path_factory, request):
    """An application whose writers wait for the test."""
    folder = tmp_path_factory.mktemp("held")
    root = str(request.config.rootpath)
    conf = {
        "spark.python.daemon.module": "tests.cluster.held",
        "spark.executorEnv.HOLD": str(folder),
        "spark.executorEnv.PYTHONPATH": root,
    }
    here = {"HOLD": str(folder), "PYTHONPATH": root}
    with driver(cluster.url, folder, conf, here) as found:
        yield found, folder


def wait_for_held(folder) -> set[int]:
    """The processes of tasks that have written and wait, as soon as there are any."""
    end = time.monotonic() + _PATIENCE_S
    while not held(folder):
        assert time.monotonic() < end, "no task has come to its end"
        time.sleep(0.05)
    return held(folder)


def executor_of(worker: int) -> int:
    """The JVM above a Python worker."""
    everyone = {process.pid: process for process in all_processes()}
    found = everyone[worker]
    while found.name != "java":
        found = everyone[found.parent]
    return found.pid


STATEMENTS = {
    "DELETE": "DELETE FROM indextables.`{t}` WHERE hash(id) % 2 = 0",
    "UPDATE": "UPDATE indextables.`{t}` SET level = 'X' WHERE hash(id) % 2 = 0",
    "INSERT": "INSERT INTO indextables.`{t}` "
    "SELECT id + 900, message, level, score, part FROM indextables.`{t}`",
}


@pytest.mark.parametrize(
    "verb", ["DELETE", *(pytest.param(v, marks=pytest.mark.slow) for v in ("UPDATE", "INSERT"))]
)
def test_an_executor_killed_after_its_tasks_have_written(application, table_path, verb):
    spark, folder = application
    spark.run(work.save, table_path, 0, 900)
    for file in folder.glob("*.held"):
        file.unlink()
    before = spark.run(work.sql, f"SELECT * FROM indextables.`{table_path}`")
    spark.run(work.hold, str(folder), on=True)
    running = spark.start(work.sql, STATEMENTS[verb].format(t=table_path))
    executor = executor_of(min(wait_for_held(folder)))
    workers = [process.pid for process in below(executor)]
    for pid in (executor, *workers):
        os.kill(pid, signal.SIGKILL)
    (folder / "hold").unlink()
    running.result(timeout=300)
    rows = spark.run(work.sql, f"SELECT * FROM indextables.`{table_path}`")
    assert by_id(rows) == by_id(expected(before, verb, spark))


def expected(before, verb, spark):
    """The rows after the statement, worked out without it."""
    even = {
        r["id"] for r in spark.run(work.sql, "SELECT id FROM range(900) WHERE hash(id) % 2 = 0")
    }
    if verb == "DELETE":
        return [row for row in before if row["id"] not in even]
    if verb == "UPDATE":
        return [row | {"level": "X"} if row["id"] in even else row for row in before]
    return before + [row | {"id": row["id"] + 900} for row in before]


def by_id(rows):
    return sorted(rows, key=lambda row: row["id"])
