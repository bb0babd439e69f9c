"""Executors die after their tasks have written and before they report."""

from __future__ import annotations

import os
import signal

import pytest
from tests.cluster import work
from tests.cluster.holding import holding
from tests.processes import below

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def application(cluster, tmp_path_factory):
    """An application whose writers wait for the test."""
    with holding(cluster, tmp_path_factory.mktemp("held")) as found:
        yield found


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
    spark = application.driver
    spark.run(work.save, table_path, 0, 900)
    before = spark.run(work.sql, f"SELECT * FROM indextables.`{table_path}`")
    application.hold("writes")
    running = spark.start(work.sql, STATEMENTS[verb].format(t=table_path))
    executor = application.wait_for_executor()
    for pid in (executor, *(process.pid for process in below(executor))):
        os.kill(pid, signal.SIGKILL)
    application.release()
    running.result(timeout=300)
    rows = spark.run(work.sql, f"SELECT * FROM indextables.`{table_path}`")
    assert by_id(rows) == by_id(expected(before, verb, spark))


def expected(before, verb, spark):
    """The expected rows after the statement."""
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
