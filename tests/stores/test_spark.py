"""Complete statements on object stores, through Spark, as a user would run them."""

from __future__ import annotations

import gzip
import logging

import pytest
from tests.stores.conftest import ACCESS_KEY, AZURE_KEY, SECRET_KEY
from tests.stores.servers import azure_key

from indextables.storage import open_store

pytestmark = pytest.mark.spark
SECRETS = (SECRET_KEY, ACCESS_KEY, AZURE_KEY)


@pytest.fixture(params=["s3", "azure"])
def cloud(request, spark):
    """A store whose credentials are set in the session, as in a notebook."""
    place = request.getfixturevalue(request.param)
    keys = {f"spark.indextables.{key}": value for key, value in place.options.items()}
    for key, value in keys.items():
        spark.conf.set(key, value)
    yield place
    for key in keys:
        spark.conf.unset(key)


def frame(spark, start, count):
    return spark.range(start, start + count).selectExpr(
        "id",
        "CAST(id % 3 AS INT) AS level",
        "concat('request ', id, IF(id % 5 = 0, ' timed out', ' done')) AS message",
    )


def text_of(frame):
    query = frame._jdf.queryExecution()
    return query.toString() + query.simpleString() + query.stringWithStats()


def test_a_table_is_written_searched_and_aggregated_when_it_lies_in_a_store(spark, cloud):
    path = f"{cloud.root}/spark-{cloud.kind}"
    for start in (0, 200):
        frame(spark, start, 200).write.format("indextables").option(
            "spark.indextables.indexing.typemap.message", "text"
        ).mode("append").save(path)
    table = spark.read.format("indextables").load(path)
    assert table.count() == 400
    table.createOrReplaceTempView("stored")
    found = spark.sql("SELECT id FROM stored WHERE message indexquery 'timed' AND id < 100")
    assert sorted(row.id for row in found.collect()) == list(range(0, 100, 5))
    groups = spark.sql("SELECT level, count(*), max(id) FROM stored GROUP BY level ORDER BY level")
    assert [tuple(row) for row in groups.collect()] == [(0, 134, 399), (1, 133, 397), (2, 133, 398)]
    spark.sql(f"MERGE SPLITS '{path}' TARGET SIZE 100M").collect()
    assert spark.read.format("indextables").load(path).count() == 400
    shown = text_of(table) + text_of(found) + text_of(groups)
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.parametrize("local", ["true", "false"])
def test_the_plan_counts_requests_and_cache_hits(spark, cloud, local):
    path = f"{cloud.root}/counted-{cloud.kind}-{local}"
    frame(spark, 0, 200).coalesce(1).write.format("indextables").save(path)
    reader = spark.read.format("indextables").option("read.local.enabled", local)

    def counted() -> dict[str, int]:
        found = reader.load(path).where("id > 10").select("message")
        assert len(found.collect()) == 189
        metrics = found._jdf.queryExecution().executedPlan().collectLeaves().apply(0).metrics()
        names = ("splitsScanned", "requests", "bytesFetched", "cacheHits")
        return {name: metrics.apply(name).value() for name in names}

    cold = counted()
    # tasks may run in another worker, whose cache is empty
    warm = next(again for again in (counted() for _ in range(8)) if again["requests"] == 0)
    assert cold["splitsScanned"] == warm["splitsScanned"] == 1
    assert cold["requests"] > 0
    assert cold["bytesFetched"] > 0
    assert warm["bytesFetched"] == 0
    assert warm["cacheHits"] > 0


def test_a_table_is_read_when_only_hadoop_has_the_keys(spark, s3):
    path = f"{s3.root}/spark-hadoop"
    writer = frame(spark, 0, 10).write.format("indextables")
    writer.options(**s3.options).save(path)
    hadoop = spark._jsc.hadoopConfiguration()
    keys = {"access.key": ACCESS_KEY, "secret.key": SECRET_KEY, "endpoint": s3.server.endpoint}
    for key, value in keys.items():
        hadoop.set(f"fs.s3a.{key}", value)
    try:
        assert spark.read.format("indextables").load(path).count() == 10
    finally:
        for key in keys:
            hadoop.unset(f"fs.s3a.{key}")


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_no_secret_is_in_plan_error_or_files_when_keys_are_options(spark, kind, request):
    place = request.getfixturevalue(kind)
    path = f"{place.root}/spark-options"
    writer = frame(spark, 0, 10).write.format("indextables")
    writer.options(**place.options).save(path)
    table = spark.read.format("indextables").options(**place.options).load(path)
    assert table.where("id > 3").count() == 6
    shown = text_of(table.where("id > 3")) + table._jdf.queryExecution().logical().toJSON()
    wrong = place.options | {"cloud.maxRetries": "0"}
    wrong |= {"aws.secretKey": f"{SECRET_KEY}-wrong", "azure.accountKey": azure_key("wrong")}
    with pytest.raises(Exception, match="STORAGE") as caught:
        spark.read.format("indextables").options(**wrong).load(path).count()
    shown += str(caught.value)
    store = open_store(path, place.settings)
    files = [store.get(meta.path) for meta in store.list("")]
    assert len(files) >= 2
    for data in files:
        shown += (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("latin1")
    assert not [secret for secret in SECRETS if secret in shown]


def shown_by_spark(spark):
    """All that Spark's UI and event log show of jobs, stages, statements and settings."""
    jobs = spark._jsc.sc().statusStore().jobsList(None)
    parts = [
        str(jobs.apply(i).name()) + str(jobs.apply(i).description()) for i in range(jobs.size())
    ]
    statements = spark._jsparkSession.sharedState().statusStore().executionsList()
    for i in range(statements.size()):
        one = statements.apply(i)
        parts += [one.description(), one.details(), one.physicalPlanDescription()]
        parts.append(str(one.modifiedConfigs()))
    return "\n".join(parts)


def test_no_secret_is_in_what_spark_shows_when_keys_are_in_the_session(spark, cloud, caplog):
    caplog.set_level(logging.DEBUG)
    path = f"{cloud.root}/spark-shown-{cloud.kind}"
    frame(spark, 0, 50).write.format("indextables").save(path)
    table = spark.read.format("indextables").load(path)
    assert table.where("id > 3").count() == 46
    # a query by tasks, and a command with tasks
    assert table.repartition(2).selectExpr("sum(id)").first()[0] == 1225
    assert spark.sql(f"PREWARM INDEXTABLES CACHE '{path}'").first().status == "success"
    shown = shown_by_spark(spark) + caplog.text
    assert "PREWARM INDEXTABLES CACHE" in shown
    assert "spark.indextables." in shown
    assert not [secret for secret in SECRETS if secret in shown]
