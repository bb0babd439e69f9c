"""Concurrent writers and killed Spark jobs: history and rows agree."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.crash.rival import ids_of
from tests.crash.test_kill import check_purge, ids
from tests.crash.writer import SCHEMA
from tests.processes import of_session, python_workers

from indextables.log import open_log
from indextables.storage import open_store

ROOT = Path(__file__).parents[2]


def spawn(path: str, writer: int, count: int, door: str) -> subprocess.Popen[str]:
    arguments = [path, str(writer), str(count), door]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.crash.rival", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def named(path: str) -> list[str]:
    """The operations in the history, in order."""
    entries = open_log(open_store(path)).history()
    return [e.user_metadata for e in entries if e.user_metadata is not None][::-1]


def check_history(path: str, done: set[str], begun: set[str]) -> None:
    """Check that each operation reported as done is there once, and that rows match the history."""
    names = named(path)
    assert len(names) == len(set(names))
    assert done <= set(names) <= begun
    rows: list[int] = []
    for name in names:
        rows = ids_of(name) + ([] if name.endswith("overwrite") else rows)
    assert ids(path) == sorted(rows)


def operations_in(lines: str, word: str) -> set[str]:
    return {line.split()[1] for line in lines.splitlines() if line.startswith(word)}


def compete(path: str, writers: int, count: int, door: str) -> None:
    open_log(open_store(path)).create(SCHEMA)
    rivals = [spawn(path, writer, count, door) for writer in range(writers)]
    output = "".join(rival.communicate()[0] for rival in rivals)
    assert [rival.returncode for rival in rivals] == [0] * writers
    assert len(operations_in(output, "done")) == writers * count
    check_history(path, operations_in(output, "done"), operations_in(output, "begin"))
    check_purge(path)


def test_two_writers_that_append_and_overwrite_agree_with_the_history(table_path):
    compete(table_path, writers=2, count=6, door="plain")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_four_spark_applications_agree_with_the_history(table_path):
    compete(table_path, writers=4, count=8, door="spark")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(50))
def test_a_killed_spark_job_leaves_the_old_or_the_new_version(table_path, seed):
    open_log(open_store(table_path)).create(SCHEMA)
    chance = random.Random(seed)
    job = spawn(table_path, seed, 6, "spark")
    output = _listen(job, chance.randint(1, 5))
    _wait(job, chance.random())
    _kill(job, seed)
    output += job.communicate()[0]
    _all_end(job.pid)
    check_history(table_path, operations_in(output, "done"), operations_in(output, "begin"))
    check_purge(table_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(50, 60))
def test_killed_workers_cost_no_rows_and_double_none(table_path, seed):
    open_log(open_store(table_path)).create(SCHEMA)
    chance = random.Random(seed)
    job = spawn(table_path, seed, 6, "spark")
    output = ""
    killed: set[int] = set()
    for _ in range(3):
        output += _listen(job, 1)
        _wait(job, chance.random() / 4)
        workers = python_workers(of_session(job.pid))
        killed |= workers
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
    output += job.communicate()[0]
    assert killed, "no worker was killed"
    check_history(table_path, operations_in(output, "done"), operations_in(output, "begin"))
    check_purge(table_path)


def _listen(job: subprocess.Popen[str], operations: int) -> str:
    """Read the output of a job until this many operations have begun."""
    assert job.stdout is not None
    output = ""
    while output.count("begin") < operations and (line := job.stdout.readline()):
        output += line
    return output


def _wait(job: subprocess.Popen[str], seconds: float) -> None:
    try:
        job.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _kill(job: subprocess.Popen[str], seed: int) -> None:
    """Kill all processes of every second job; of the others, the program or the JVM."""
    if seed % 2 == 0:
        os.killpg(job.pid, signal.SIGKILL)
    elif seed % 4 == 1:
        job.kill()
    else:
        machines = [p.pid for p in of_session(job.pid) if p.name == "java"]
        assert machines or job.poll() is not None
        for machine in machines:
            os.kill(machine, signal.SIGKILL)


def _all_end(session: int) -> None:
    """Wait until the remaining processes of a job have noticed and exited."""
    end = time.monotonic() + 60
    while left := of_session(session):
        assert time.monotonic() < end, f"still there: {left}"
        time.sleep(0.05)
