"""One planner process answers all calls, and it sees everything acknowledged before."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.processes import below, kill
from tests.spark.test_wire import pid_of

from indextables.errors import from_text
from indextables.runtime.host_files import host_folder, write_json

pytestmark = pytest.mark.spark


@pytest.fixture
def tables(spark, tmp_path):
    paths = [str(tmp_path / f"t{i}") for i in range(4)]
    for path in paths:
        spark.range(10).coalesce(1).write.format("indextables").save(path)
    return paths


def rows(spark, text):
    return spark.sql(text).collect()


def process_of(spark) -> str:
    found = rows(spark, "DESCRIBE INDEXTABLES ENVIRONMENT")
    return next(
        r.property_value for r in found if r.role == "driver" and r.property_name == "process.id"
    )


def test_statements_at_the_same_time_see_what_came_before_them(spark, tables):
    """Several sessions write, checkpoint, merge and describe concurrently."""

    def work(path):
        session = spark.newSession()
        for round_ in range(3):
            session.range(10).coalesce(1).write.format("indextables").mode("append").save(path)
            written = rows(session, f"CHECKPOINT INDEXTABLES '{path}'")[0]
            state = rows(session, f"DESCRIBE INDEXTABLES STATE '{path}'")[0]
            assert (state.format, state.status) == ("avro-state", "OK")
            assert state.version == written.checkpoint_version
            compacted = rows(session, f"COMPACT INDEXTABLES '{path}'")[0]
            state = rows(session, f"DESCRIBE INDEXTABLES STATE '{path}'")[0]
            assert (state.version, state.num_tombstones) == (compacted.checkpoint_version, 0)
            count = session.read.format("indextables").load(path).count()
            assert count == 10 * (round_ + 2)
        return process_of(session)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(work, tables))) == 1


def test_counters_are_those_of_the_process_that_serves_queries(spark, tables, planner):
    def query(path):
        session = spark.newSession()
        return session.read.format("indextables").load(path).where("id < 0").count()

    rows(spark, "FLUSH INDEXTABLES DATA SKIPPING STATS")
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(query, tables)) == 0
    stats = rows(spark, "DESCRIBE INDEXTABLES DATA SKIPPING STATS")
    counts = {r.metric_name: r.metric_value for r in stats}
    assert int(counts["data_skipped_files"]) == len(tables)  # each query once, one split each
    assert process_of(spark) == str(planner("ping").json().get("pid").asInt())


def test_a_merge_of_many_groups_is_one_job(spark, tmp_path):
    path = str(tmp_path / "t")
    frame = spark.range(12).selectExpr("id", "id % 6 AS part").coalesce(1)
    for _ in range(2):
        frame.write.format("indextables").partitionBy("part").mode("append").save(path)
    spark.conf.set("spark.indextables.merge.batchSize", "2")
    try:
        metrics = rows(spark, f"MERGE SPLITS '{path}'")[0].metrics
    finally:
        spark.conf.unset("spark.indextables.merge.batchSize")
    assert (metrics.status, metrics.merge_groups) == ("success", 6)
    jobs = merge_jobs(spark, path)
    assert [(j.status, j.total_groups, j.completed_groups) for j in jobs] == [("COMPLETED", 6, 6)]
    assert (jobs[0].total_batches, jobs[0].completed_batches) == (3, 3)


def begin_merge(spark, planner, path) -> str:
    """Start a merge as the hooks do; it waits in the planner for its tasks."""
    spark.range(5).coalesce(1).write.format("indextables").mode("append").save(path)
    reply = planner("command", json.dumps({"text": f"MERGE SPLITS '{path}'"})).json()
    assert reply.get("need").get("kind").asText() == "tasks"
    return reply.get("id").asText()


def merge_jobs(spark, path):
    return [
        job
        for job in rows(spark, "DESCRIBE INDEXTABLES MERGE JOBS")
        if job.table_path.endswith(path)
    ]


def test_a_command_that_cannot_go_on_ends_in_the_planner_too(spark, tables, planner):
    key = begin_merge(spark, planner, tables[0])
    assert [job.status for job in merge_jobs(spark, tables[0])] == ["RUNNING"]
    planner("command_stop", json.dumps({"id": key, "reason": "the job was cancelled"}))
    (job,) = merge_jobs(spark, tables[0])
    assert job.status == "FAILED"
    assert "the job was cancelled" in job.error_message


def is_one_error(caught, code) -> None:
    found = from_text(str(caught.value))
    assert found is not None, caught.value
    assert found.code == code
    assert "\n" not in str(caught.value).split("JVM stacktrace")[0].strip()


def test_a_command_whose_planner_is_lost_while_it_waits_for_tasks_fails(spark, tables, planner):
    key = begin_merge(spark, planner, tables[0])
    kill(pid_of(planner))
    with pytest.raises(Exception, match="PLANNER_LOST") as caught:
        planner("command_next", json.dumps({"id": key, "answer": {"results": []}}))
    is_one_error(caught, "PLANNER_LOST")
    assert rows(spark, f"MERGE SPLITS '{tables[0]}'")[0].metrics.status == "success"


def test_a_command_whose_planner_is_lost_while_it_runs_fails(spark, tables, planner):
    job = {"job_id": "endless", "table_path": "x", "status": "RUNNING", "total_splits": 1,
           "completed_splits": 0, "failed_splits": 0, "started_ms": 0, "ended_ms": None,
           "error_message": None, "pid": os.getpid()}  # fmt: skip
    file = host_folder(spark.sparkContext.applicationId, "prewarm") / "endless.json"
    write_json(file, job)
    ended = threading.Event()

    def kill_until_it_ends() -> None:
        # a planner that is killed before the call is replaced
        while not ended.wait(1):
            kill(pid_of(planner))

    killer = threading.Thread(target=kill_until_it_ends)
    killer.start()
    try:
        with pytest.raises(Exception, match="the planner process ended") as caught:
            rows(spark, "WAIT FOR INDEXTABLES PREWARM JOBS")
    finally:
        ended.set()
        killer.join()
        file.unlink()
    is_one_error(caught, "COMMIT_UNKNOWN")
    assert rows(spark, f"DESCRIBE INDEXTABLES DETAIL '{tables[0]}'")[0].num_records == 10


def test_an_idle_planner_may_die_unnoticed(spark, tables, planner):
    kill(pid_of(planner))
    spark.range(5).coalesce(1).write.format("indextables").mode("append").save(tables[0])
    kill(pid_of(planner))
    assert rows(spark, f"CHECKPOINT INDEXTABLES '{tables[0]}'")[0].status == "SUCCESS"
    assert spark.read.format("indextables").load(tables[0]).count() == 15


def test_a_killed_daemon_and_its_workers_are_replaced_within_the_statement(spark, tables, planner):
    """Kill the planner's daemon; tasks have a separate one."""

    def kill_all():
        worker = pid_of(planner)
        (daemon,) = {p.parent for p in below(os.getpid()) if p.pid == worker}
        kill(daemon, *(process.pid for process in below(daemon)))

    kill_all()
    assert spark.read.format("indextables").load(tables[0]).count() == 10
    kill_all()
    rows(spark, f"DELETE FROM indextables.`{tables[0]}` WHERE id = 3")
    kill_all()
    assert rows(spark, f"CHECKPOINT INDEXTABLES '{tables[0]}'")[0].status == "SUCCESS"
    kill_all()
    assert spark.read.format("indextables").load(tables[0]).count() == 9


def test_a_merge_after_a_write_runs_on_the_executors(spark, tmp_path):
    path = str(tmp_path / "t")
    spark.range(10).repartition(2).write.format("indextables").save(path)
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("after write", "a write with a merge")
    (
        spark.range(10, 20)
        .coalesce(1)
        .write.format("indextables")
        .option("spark.indextables.mergeOnWrite.enabled", "true")
        .option("spark.indextables.mergeOnWrite.async.enabled", "false")
        .mode("append")
        .save(path)
    )
    # the write and the merge
    assert len(tracker.getJobIdsForGroup("after write")) == 2
    assert rows(spark, f"DESCRIBE INDEXTABLES DETAIL '{path}'")[0].num_files == 1


def test_a_merge_in_the_background_does_not_delay_the_write(spark, tmp_path):
    path = str(tmp_path / "t")
    spark.range(10).repartition(2).write.format("indextables").save(path)
    (
        spark.range(10, 20)
        .coalesce(1)
        .write.format("indextables")
        .option("spark.indextables.mergeOnWrite.enabled", "true")
        .option("spark.indextables.mergeOnWrite.async.enabled", "true")
        .mode("append")
        .save(path)
    )
    for _ in range(300):
        if rows(spark, f"DESCRIBE INDEXTABLES DETAIL '{path}'")[0].num_files == 1:
            break
        time.sleep(0.1)
    detail = rows(spark, f"DESCRIBE INDEXTABLES DETAIL '{path}'")[0]
    assert (detail.num_files, detail.num_records) == (1, 20)
    jobs = merge_jobs(spark, path)
    assert len(jobs) == 1
