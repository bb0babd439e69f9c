"""Many concurrent queries of one application."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.processes import kill
from tests.spark.test_wire import pid_of

pytestmark = pytest.mark.spark
USERS = 24
PATIENCE_S = 60


@pytest.fixture
def path(spark, tmp_path):
    path = str(tmp_path / "t")
    for _ in range(3):
        spark.range(100).coalesce(1).write.format("indextables").mode("append").save(path)
    return path


def threads_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def look_up(spark, path, number: int) -> int:
    return spark.read.format("indextables").load(path).where(f"id = {number}").count()


def test_threads_that_many_queries_needed_are_given_back(spark, path, planner):
    kill(pid_of(planner))  # with the threads of earlier queries
    assert [look_up(spark, path, number) for number in range(8)] == [3] * 8
    pid = pid_of(planner)
    few = most = threads_of(pid)
    end = time.monotonic() + PATIENCE_S
    with ThreadPoolExecutor(USERS) as pool:
        while most < few + USERS // 2:
            assert time.monotonic() < end, f"{most} threads, {few} for one query"
            assert set(pool.map(lambda n: look_up(spark, path, n % 100), range(4 * USERS))) == {3}
            most = threads_of(pid)
    end = time.monotonic() + PATIENCE_S
    while threads_of(pid) > most - USERS // 2:
        assert time.monotonic() < end, f"{threads_of(pid)} threads of {most} are still alive"
        time.sleep(0.2)
    assert look_up(spark, path, 7) == 3
    assert pid_of(planner) == pid


@pytest.fixture
def busy(spark, tmp_path):
    """Occupy all cores of the application until the test ends."""
    word = tmp_path / "busy"
    word.touch()
    cores = spark.sparkContext.defaultParallelism

    def wait(rows):
        yield from rows
        while word.exists():
            time.sleep(0.05)

    waiting = spark.sparkContext.parallelize(range(cores), cores).mapPartitions(wait)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(waiting.count)
        tracker = spark.sparkContext.statusTracker()
        try:
            while not any(
                stage.numActiveTasks == cores
                for stage in map(tracker.getStageInfo, tracker.getActiveStageIds())
                if stage is not None
            ):
                time.sleep(0.05)
            yield pool
        finally:
            word.unlink()
        assert running.result(PATIENCE_S) == cores


def test_small_queries_wait_neither_for_jobs_nor_for_a_merge(spark, path, busy):
    merge = busy.submit(lambda: spark.sql(f"MERGE SPLITS '{path}'").collect())
    jobs = "DESCRIBE INDEXTABLES MERGE JOBS"
    while not any(job.table_path.endswith(path) for job in spark.sql(jobs).collect()):
        time.sleep(0.05)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda n: look_up(spark, path, n), range(20))) == {3}
    assert not merge.done()
