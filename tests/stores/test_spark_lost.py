"""Through Spark: the planner dies during a commit, or the store does not answer it."""

from __future__ import annotations

import os
import signal

import pytest
from tests.crash.verbs import VERSION_FILE
from tests.stores.conftest import s3_place
from tests.stores.proxy import CUT_AFTER, CUT_BEFORE, HOLD, PASS

pytestmark = pytest.mark.spark
KEY = "spark.indextables."
SOON = {
    "transaction.retry.maxAttempts": "2",
    "transaction.retry.maxDelayMs": "5",
    "cloud.maxRetries": "0",
}


@pytest.fixture
def place(spark, proxy, minio_server):
    """A table in MinIO behind a proxy, with rows 0 to 9."""
    options = s3_place(minio_server).options | {"s3.endpoint": proxy.endpoint} | SOON
    for key, value in options.items():
        spark.conf.set(KEY + key, value)
    path = f"{s3_place(minio_server).root}/lost-{os.urandom(4).hex()}"
    save(spark, path, 0)
    yield path
    for key in options:
        spark.conf.unset(KEY + key)


def save(spark, path, start, mode="append"):
    spark.range(start, start + 10, 1, 2).write.format("indextables").mode(mode).save(path)


def ids(spark, path):
    return sorted(row.id for row in spark.read.format("indextables").load(path).collect())


VERBS = {
    "append": (lambda s, p: save(s, p, 10), range(20)),
    "overwrite": (lambda s, p: save(s, p, 10, "overwrite"), range(10, 20)),
    "delete as a job": (
        lambda s, p: s.sql(f"DELETE FROM indextables.`{p}` WHERE sqrt(id) < 2"),
        range(4, 10),
    ),
    "update": (
        lambda s, p: s.sql(f"UPDATE indextables.`{p}` SET id = id + 100 WHERE id < 4"),
        [*range(4, 10), *range(100, 104)],
    ),
}


def on_version(action):
    """A rule for the first put of a version."""
    left = [1]

    def rule(request):
        if left[0] and request.method == "PUT" and VERSION_FILE.search(request.path):
            left[0] -= 1
            return action()
        return PASS

    return rule


@pytest.mark.parametrize("fate", [CUT_BEFORE, CUT_AFTER, HOLD])
@pytest.mark.parametrize("verb", VERBS)
def test_a_write_is_there_once_when_the_planner_dies_in_its_commit(spark, place, proxy, verb, fate):
    run, wanted = VERBS[verb]
    rpc = spark._jvm.org.apache.spark.sql.indextables.Rpc

    def die():
        os.kill(planner, signal.SIGKILL)
        return fate

    planner = rpc.call("ping", rpc.parse("{}")).json().get("pid").asInt()
    proxy.rule = on_version(die)
    run(spark, place)
    proxy.rule = lambda _: PASS
    proxy.deliver()
    assert ids(spark, place) == sorted(wanted)


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_deleted_when_the_store_does_not_answer(spark, place, proxy, verb):
    run, wanted = VERBS[verb]
    proxy.rule = lambda r: HOLD if r.method == "PUT" and VERSION_FILE.search(r.path) else PASS
    with pytest.raises(Exception, match="COMMIT_UNKNOWN") as caught:
        run(spark, place)
    proxy.rule = lambda _: PASS
    assert "DESCRIBE INDEXTABLES HISTORY" in str(caught.value)
    assert not proxy.received("DELETE")
    assert ids(spark, place) == list(range(10))
    proxy.deliver()
    assert ids(spark, place) == sorted(wanted)


def test_the_error_is_one_line_when_a_command_loses_its_planner(spark, place, proxy):
    save(spark, place, 10)
    rpc = spark._jvm.org.apache.spark.sql.indextables.Rpc
    planner = rpc.call("ping", rpc.parse("{}")).json().get("pid").asInt()

    def die():
        os.kill(planner, signal.SIGKILL)
        return CUT_AFTER

    proxy.rule = on_version(die)
    with pytest.raises(Exception, match="COMMIT_UNKNOWN") as caught:
        spark.sql(f"MERGE SPLITS '{place}' TARGET SIZE 100M").collect()
    proxy.rule = lambda _: PASS
    assert "\n" not in str(caught.value).split("JVM stacktrace")[0].strip()
    assert ids(spark, place) == list(range(20))
