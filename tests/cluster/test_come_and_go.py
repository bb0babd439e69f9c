"""Dynamic allocation: executors start for work and stop after it."""

from __future__ import annotations

import pytest
from tests.cluster import work
from tests.cluster.driver import driver
from tests.cluster.holding import wait_until
from tests.crash.test_kill import check_purge

pytestmark = [pytest.mark.spark, pytest.mark.slow]
DYNAMIC = "spark.dynamicAllocation."
SLOW_S = 40  # longer than executors take to start and to stop
CONF = {
    f"{DYNAMIC}enabled": "true",
    f"{DYNAMIC}minExecutors": "0",
    f"{DYNAMIC}maxExecutors": "3",
    f"{DYNAMIC}executorIdleTimeout": "1s",
    # also those that hold the shuffle files of earlier queries
    f"{DYNAMIC}shuffleTracking.enabled": "true",
    f"{DYNAMIC}shuffleTracking.timeout": "1s",
    # do not wait for executors that were not requested
    "spark.scheduler.minRegisteredResourcesRatio": "0",
    "spark.indextables.read.local.enabled": "false",
    "spark.indextables.purge.retentionCheckEnabled": "false",
}


@pytest.fixture
def application(cluster, tmp_path):
    """An application that has no executors until it needs some."""
    with driver(cluster.url, tmp_path, CONF) as found:
        yield found


@pytest.fixture
def alone(cluster, application):
    """Run a function of `work` after the last executor has stopped."""

    def run(call, *args):
        wait_until(lambda: not cluster.executors(), "executors stay")
        return application.run(call, *args)

    return run


@pytest.mark.timeout(1800)
def test_every_statement_has_executors_of_its_own(application, alone, table_path, tmp_path):
    parquet, table = str(tmp_path / "parquet"), f"indextables.`{table_path}`"
    alone(work.save, table_path, 0, 300)
    alone(work.write_parquet, parquet, 0, 300)
    assert alone(work.same_as_parquet, table_path, parquet) == []
    known = alone(work.versions, table_path)
    alone(work.delete_some, table_path)
    alone(work.sql, f"UPDATE {table} SET id = id + 1000 WHERE pmod(id, 7) = 1")
    rows = {i + 1000 if i % 7 == 1 else i for i in range(300) if i % work.SOME}
    assert alone(work.ids, table_path) == sorted(rows)
    alone(work.save, table_path, 300, 400)
    assert alone(work.versions, table_path) == known + 3
    (merged,) = alone(work.sql, f"MERGE SPLITS '{table_path}'")
    assert merged["metrics"]["status"] == "success"
    warmed = alone(work.sql, f"PREWARM INDEXTABLES CACHE '{table_path}'")
    assert sum(row["splits_prewarmed"] for row in warmed) == 1
    alone(work.sql, f"PURGE INDEXTABLE '{table_path}' OLDER THAN 0 HOURS")
    assert alone(work.totals, table_path) == [len(rows) + 100, sum(rows) + sum(range(300, 400))]
    # one or more for each statement that has tasks
    assert application.run(work.executors_ever) >= 8
    check_purge(table_path)


@pytest.mark.timeout(1800)
def test_executors_that_are_done_go_before_the_commit(cluster, application, table_path):
    application.run(work.save, table_path, 0, 300)
    known = application.run(work.versions, table_path)
    running = application.start(work.save_slowly, table_path, 300, 600, SLOW_S)
    wait_until(lambda: len(cluster.executors()) > 1, "no executors came")
    wait_until(lambda: len(cluster.executors()) == 1, "those without work stay")
    assert not running.done()
    running.result(timeout=300)
    assert application.run(work.ids, table_path) == list(range(600))
    assert application.run(work.versions, table_path) == known + 1
    check_purge(table_path)
