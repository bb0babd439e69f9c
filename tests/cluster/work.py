"""The functions that tests run on a cluster, in the driver's process."""

from __future__ import annotations

import time
from typing import Any

ROWS = 3000
# one row in this many
SOME = 3
TASKS = {"spark.indextables.read.local.enabled": "false"}


def session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.active()


def rows(first: int, last: int) -> Any:
    """Log events by id, in three tasks, one per executor."""
    return (
        session()
        .range(first, last, 1, 3)
        .selectExpr(
            "id",
            "concat(if(id % 7 = 0, 'timeout of ', 'request '), id) AS message",
            "element_at(array('ERROR', 'INFO', 'WARN'), cast(id % 3 AS int) + 1) AS level",
            "id * 0.5D AS score",
            "cast(id % 2 AS int) AS part",
        )
    )


def save(path: str, first: int, last: int, mode: str = "append", **options: str) -> None:
    writer = rows(first, last).write.format("indextables").mode(mode)
    writer.option("indexing.typemap.message", "text").options(**options).save(path)


def save_partitioned(path: str, first: int, last: int) -> None:
    """Save the same rows, partitioned by level and part."""
    writer = rows(first, last).write.format("indextables").mode("append")
    writer.partitionBy("level", "part").save(path)


def save_slowly(path: str, first: int, last: int, seconds: float) -> None:
    """Append rows with three tasks, one of them slow."""
    from pyspark.sql.functions import udf

    wait = udf(lambda number: time.sleep(seconds * (number == first)) or number, "long")
    slow = rows(first, last).withColumn("id", wait("id"))
    slow.write.format("indextables").mode("append").save(path)


def load(path: str) -> Any:
    """Load the table so that tasks on the executors read it, whatever its size."""
    return session().read.format("indextables").options(**TASKS).load(path)


def sql(text: str) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in session().sql(text).collect()]


def ids(path: str) -> list[int]:
    return sorted(row.id for row in load(path).select("id").collect())


def totals(path: str) -> list[int]:
    """The number of rows and the sum of their ids, computed by the index."""
    return [*load(path).selectExpr("count(*)", "coalesce(sum(id), 0)").first()]


def same_as_parquet(path: str, parquet: str) -> list[str]:
    """The queries whose answers differ from those over the same rows in Parquet."""
    queries = (
        "SELECT * FROM {t}",
        "SELECT level, count(*), sum(id), avg(score) FROM {t} GROUP BY level",
        "SELECT count(*), min(message), max(score), count(DISTINCT level) FROM {t} WHERE id > 9",
        "SELECT id, score FROM {t} WHERE level <> 'INFO' ORDER BY score DESC LIMIT 7",
        "SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.id + 1 WHERE b.level = 'WARN'",
        "SELECT part, max(id) FROM {t} WHERE message LIKE 'timeout%' GROUP BY part",
    )
    load(path).createOrReplaceTempView("ours")
    session().read.parquet(parquet).createOrReplaceTempView("theirs")

    def answer(query: str, table: str) -> list[str]:
        return sorted(str(row) for row in session().sql(query.format(t=table)).collect())

    return [q for q in queries if answer(q, "ours") != answer(q, "theirs")]


def write_parquet(path: str, first: int, last: int) -> None:
    rows(first, last).write.mode("overwrite").parquet(path)


def executor_hosts() -> list[str]:
    """The hosts with an executor."""
    found = session()._jsc.sc().statusStore().executorList(True)
    known = [found.apply(i) for i in range(found.size())]
    return sorted(e.hostPort().split(":")[0] for e in known if e.id() != "driver")


def purge_by_tasks(path: str, dry_run: bool) -> dict[str, Any]:
    """Run PURGE with listing by tasks; return its answer and the number of jobs."""
    key, words = "spark.indextables.purge.maxFilesListedByPlanner", " DRY RUN" if dry_run else ""
    session().conf.set(key, "0")
    try:
        before = jobs()
        (row,) = sql(f"PURGE INDEXTABLE '{path}' OLDER THAN 0 HOURS{words}")
        return {**row["metrics"], "jobs": jobs() - before}
    finally:
        session().conf.unset(key)


def jobs() -> int:
    """The number of Spark jobs so far."""
    return int(session()._jsc.sc().statusStore().jobsList(None).size())


def executors_ever() -> int:
    """The number of executors so far."""
    known = session()._jsc.sc().statusStore().executorList(False)
    return sum(known.apply(i).id() != "driver" for i in range(known.size()))


def failure(text: str) -> str:
    """Run a failing statement and return its error."""
    try:
        session().sql(text).collect()
    except Exception as problem:  # noqa: BLE001 (the test looks at it)
        return str(problem)
    return ""


def failing_append(path: str) -> str:
    """Run a failing append and return its error."""
    try:
        save(path, 0, 9)
    except Exception as problem:  # noqa: BLE001 (the test looks at it)
        return str(problem)
    return ""


def attempt(name: str, *args: Any) -> tuple[Any, str]:
    """Run a function of this module; return its result, or its error as text."""
    try:
        return globals()[name](*args), ""
    except Exception as problem:  # noqa: BLE001 (the test looks at it)
        return None, str(problem)


def statement(text: str) -> None:
    session().sql(text).collect()


def delete_some(path: str) -> None:
    """Delete rows of every split."""
    statement(f"DELETE FROM indextables.`{path}` WHERE pmod(id, {SOME}) = 0")


def upsert(path: str, first: int, last: int) -> None:
    """Upsert rows by key."""
    writer = rows(first, last).write.format("indextables").mode("append")
    writer.option("primary-key", "id").save(path)


def follow(source: str, target: str, checkpoint: str) -> None:
    """Stream the new rows of one table into another."""
    stream = session().readStream.format("indextables").load(source)
    writer = stream.writeStream.format("indextables").option("checkpointLocation", checkpoint)
    running = writer.trigger(availableNow=True).start(target)
    try:
        if not running.awaitTermination(300):
            raise TimeoutError("the stream does not end")
    finally:
        running.stop()


def versions(path: str) -> int:
    """The number of commits of a table."""
    return len(session().sql(f"DESCRIBE INDEXTABLES HISTORY '{path}'").collect())


def save_at_once(path: str, writers: int) -> None:
    """Run several appends concurrently."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(writers) as pool:
        for done in [pool.submit(save, path, 0, 30) for _ in range(writers)]:
            done.result()


def change_counts(path: str, version: int) -> list[dict[str, Any]]:
    """The number of changed rows since a version, by kind."""
    feed = session().read.format("indextables").option("readChangeFeed", "true")
    found = feed.option("startingVersion", str(version)).load(path)
    grouped = found.groupBy("_change_type").count().withColumnRenamed("count", "n")
    return [row.asDict() for row in grouped.collect()]
