"""IndexTables in Spark's metrics system."""

from __future__ import annotations

import json
import urllib.request

import pytest
from tests.cluster import work
from tests.cluster.driver import driver
from tests.stores.servers import free_port

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    """An application with Spark's metrics servlet, and its URL."""
    port = free_port()
    conf = {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.metrics.namespace": "app",
        "spark.metrics.conf.*.sink.prometheusServlet.class": (
            "org.apache.spark.metrics.sink.PrometheusServlet"
        ),
        "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
    }
    with driver("local[2]", tmp_path_factory.mktemp("monitored"), conf) as found:
        yield found, f"http://127.0.0.1:{port}/metrics"


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def metrics(url: str) -> dict[str, int]:
    """The counters of IndexTables and the counts of its timers, by name."""
    exported = json.loads(get(f"{url}/json/"))
    prefix = "app.driver.indextables."
    counters = {k: v["count"] for k, v in exported["counters"].items() if k.startswith(prefix)}
    timers = {k: v["count"] for k, v in exported["timers"].items() if k.startswith(prefix)}
    return {key.removeprefix(prefix): value for key, value in (counters | timers).items()}


def test_commits_and_calls_of_the_planner_are_counted(application, table_path):
    spark, url = application
    spark.run(work.save, table_path, 0, 30)
    before = metrics(url)
    for _ in range(3):
        spark.run(work.save, table_path, 0, 30)
    assert len(spark.run(work.ids, table_path)) == 120
    after = metrics(url)
    assert after["commit.count"] - before["commit.count"] == 3
    assert after["planner.call.commit"] - before["planner.call.commit"] == 3
    assert after["planner.call.plan"] > before.get("planner.call.plan", 0)
    assert after["commit.conflicts"] == before["commit.conflicts"]


def test_commits_at_the_same_time_are_all_counted(application, table_path):
    spark, url = application
    spark.run(work.save, table_path, 0, 30)
    before = metrics(url)
    spark.run(work.save_at_once, table_path, 6)
    after = metrics(url)
    assert after["commit.count"] - before["commit.count"] == 6
    assert len(spark.run(work.ids, table_path)) == 7 * 30


def test_prometheus_sees_them(application, table_path):
    spark, url = application
    spark.run(work.save, table_path, 0, 30)
    text = get(f"{url}/prometheus/")
    assert "metrics_app_driver_indextables_commit_count_Count" in text
    assert "metrics_app_driver_indextables_planner_call_commit_Count" in text
