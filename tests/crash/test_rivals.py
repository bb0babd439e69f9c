"""Several writers at once, and whole Spark jobs that are killed: history and rows agree."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.crash.rival import ids_of
from tests.crash.test_kill import check_purge, ids
from tests.crash.writer import SCHEMA

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
    """The operations in the history, in their order."""
    entries = open_log(open_store(path)).history()
    return [e.user_metadata for e in entries if e.user_metadata is not None][::-1]


def check_history(path: str, done: set[str], begun: set[str]) -> None:
    """Whatever was said to be done is there once, nothing else than begun, rows as history says."""
    names = named(path)
    assert len(names) == len(set(names))
    assert done <= set(names) <= begun
    rows: list[int] = []
    for name in names:
        rows = ids_of(name) + ([] if name.endswith("overwrite") else rows)
    assert ids(path) == sorted(rows)


def said(lines: str, word: str) -> set[str]:
    return {line.split()[1] for line in lines.splitlines() if line.startswith(word)}


def compete(path: str, writers: int, count: int, door: str) -> None:
    open_log(open_store(path)).create(SCHEMA)
    rivals = [spawn(path, writer, count, door) for writer in range(writers)]
    told = "".join(rival.communicate()[0] for rival in rivals)
    assert [rival.returncode for rival in rivals] == [0] * writers
    assert len(said(told, "done")) == writers * count
    check_history(path, said(told, "done"), said(told, "begin"))
    check_purge(path)


def test_two_writers_that_append_and_overwrite_agree_with_the_history(table_path):
    compete(table_path, writers=2, count=6, door="plain")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_four_spark_applications_agree_with_the_history(table_path):
    compete(table_path, writers=4, count=8, door="spark")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(4))
def test_a_killed_spark_job_leaves_the_old_or_the_new_version(table_path, seed):
    open_log(open_store(table_path)).create(SCHEMA)
    chance = random.Random(seed)
    job = spawn(table_path, seed, 6, "spark")
    told = _listen(job, chance.randint(1, 5))
    _wait(job, chance.random())
    os.killpg(job.pid, signal.SIGKILL)
    told += job.communicate()[0]
    check_history(table_path, said(told, "done"), said(told, "begin"))
    check_purge(table_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(4, 6))
def test_killed_workers_cost_no_rows_and_double_none(table_path, seed):
    open_log(open_store(table_path)).create(SCHEMA)
    chance = random.Random(seed)
    job = spawn(table_path, seed, 6, "spark")
    told = ""
    for _ in range(3):
        told += _listen(job, 1)
        _wait(job, chance.random() / 4)
        for worker in _workers(job.pid):
            os.kill(worker, signal.SIGKILL)
    told += job.communicate()[0]
    check_history(table_path, said(told, "done"), said(told, "begin"))
    check_purge(table_path)


def _listen(job: subprocess.Popen[str], operations: int) -> str:
    """Read until so many operations have begun."""
    assert job.stdout is not None
    told = ""
    while told.count("begin") < operations and (line := job.stdout.readline()):
        told += line
    return told


def _wait(job: subprocess.Popen[str], seconds: float) -> None:
    try:
        job.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _workers(session: int) -> list[int]:
    """Spark's Python workers of a job, which are children of a daemon."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            after_name = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parent, group = int(after_name[1]), int(after_name[3])
        if b"pyspark.daemon" in command and group == session:
            found.append((int(process.name), parent))
    daemons = {pid for pid, parent in found if parent not in {p for p, _ in found}}
    return [pid for pid, _ in found if pid not in daemons]
