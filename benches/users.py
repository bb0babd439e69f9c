"""Many users of one application: threads that look up one row after another, next to Parquet.

The table is on local disk first, then in a store behind a proxy that delays every request by 25 ms.
Finally each user has a session: with Spark Connect, and with Spark's SQL server through JDBC.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.connect.server import connect_server, thrift_server
from tests.stores import signing
from tests.stores.conftest import ACCESS_KEY, BUCKET, SECRET_KEY, s3_place
from tests.stores.proxy import Proxy
from tests.stores.servers import minio

from benches import corpus
from benches.reading import prepare, session
from benches.report import Result, warm

ROWS = 200_000
USERS = (1, 4, 16, 64)
SECONDS = 8.0
DELAY_SECONDS = 0.025
# the planner's memory after the first number of queries must suffice for the second
FEW, MANY = 2_000, 20_000
# idle seconds after which the hooks close a connection to the planner
IDLE_SECONDS = 5


@dataclass(frozen=True)
class Load:
    """The load of some users: queries per second, and how long one query took."""

    rate: float
    p99_ms: float


@dataclass(frozen=True)
class Planner:
    """The planner process as the operating system reports it."""

    megabytes: float
    threads: int


def run() -> Iterator[Result]:
    """Measure."""
    spark = session()
    prepare(spark, ROWS)
    try:
        yield from _local(spark)
        yield from _given_back(spark)
        yield from _beside_work(spark)
        yield from _long_run(spark)
        yield from _remote(spark)
        yield from _by_jdbc(spark)
    finally:
        spark.stop()
    yield from _by_connect()


def lookup(spark: Any, view: str) -> Callable[[], None]:
    """A query of one row, a different one each time."""

    def ask() -> None:
        found = spark.sql(f"SELECT * FROM {view} WHERE id = {random.randrange(ROWS)}").collect()
        if len(found) != 1:
            raise AssertionError(f"{len(found)} rows")

    return ask


def load(ask: Callable[[], None], users: int, seconds: float = SECONDS) -> Load:
    """Run a number of users, each of whom sends the next query as soon as one is answered."""
    times: list[float] = []
    begin = threading.Barrier(users + 1)

    def use() -> None:
        ask()  # the first query of a thread opens its connection
        begin.wait()
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            ask()
            times.append(time.perf_counter() - start)

    with ThreadPoolExecutor(users) as pool:
        using = [pool.submit(use) for _ in range(users)]
        begin.wait()
        start = time.perf_counter()
        for each in using:
            each.result()
        took = time.perf_counter() - start
    return Load(len(times) / took, 1000 * statistics.quantiles(times, n=100)[98])


def planner(spark: Any) -> Planner:
    """Measure memory and threads of the planner."""
    found = spark.sql("DESCRIBE INDEXTABLES ENVIRONMENT").collect()
    (pid,) = (
        row.property_value
        for row in found
        if (row.role, row.property_name) == ("driver", "process.id")
    )
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return Planner(int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]))


def _local(spark: Any) -> Iterator[Result]:
    ours, theirs = lookup(spark, "events"), lookup(spark, "parquet_events")
    warm(ours)
    warm(theirs)
    before = planner(spark)
    yield Result(f"planner before ({before.threads} threads)", before.megabytes, "MB")
    found = {}
    for users in USERS:
        found[users] = load(ours, users)
        held = planner(spark)
        what = f"{users} users, p99 {found[users].p99_ms:.0f} ms, planner {held.megabytes:.0f} MB"
        yield Result(f"{what}, {held.threads} threads", found[users].rate, "queries/s")
    ratio = found[16].rate / found[1].rate
    yield Result("16 users, relative to the throughput of one", ratio, bar=1.6, at_most=False)
    parquet = load(theirs, 16)
    what = f"16 users, relative to Parquet ({parquet.rate:.0f} queries/s)"
    yield Result(what, found[16].rate / parquet.rate, bar=5, at_most=False)


def _given_back(spark: Any) -> Iterator[Result]:
    """Count the planner's threads after the users have left."""
    before = planner(spark)
    time.sleep(4 * IDLE_SECONDS)
    after = planner(spark)
    what = f"planner of {before.threads} threads after all but one user have left"
    yield Result(
        f"{what} ({before.megabytes:.0f} to {after.megabytes:.0f} MB)", after.threads, "threads"
    )


def _beside_work(spark: Any) -> Iterator[Result]:
    """Measure lookups while another user scans and merges continuously."""
    done = threading.Event()

    def work() -> None:
        path = tempfile.mkdtemp()
        while not done.is_set():
            spark.table("events").write.format("noop").mode("overwrite").save()
            for _ in range(2):
                few = spark.table("events").limit(1000)
                few.write.format("indextables").mode("append").save(f"{path}/merged")
            spark.sql(f"MERGE SPLITS '{path}/merged'").collect()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        got = load(lookup(spark, "events"), 4)
        done.set()
        working.result()
    what = f"4 users during scans and merges, p99 {got.p99_ms:.0f} ms"
    yield Result(what, got.rate, "queries/s")


def _long_run(spark: Any) -> Iterator[Result]:
    """Compare the planner's memory after few and after many queries of 16 users."""
    ask = lookup(spark, "events")

    def after(queries: int) -> Planner:
        with ThreadPoolExecutor(16) as pool:
            for _ in pool.map(lambda _: ask(), range(queries)):
                pass
        return planner(spark)

    few = after(FEW)
    many = after(MANY - FEW)
    what = f"planner after {MANY:,} queries, relative to {FEW:,} ({few.megabytes:.0f} MB)"
    yield Result(what, many.megabytes / few.megabytes, bar=1.2)


def _remote(spark: Any) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder, minio(Path(folder), ACCESS_KEY, SECRET_KEY) as s3:
        signing.make_bucket(s3.endpoint, BUCKET, ACCESS_KEY, SECRET_KEY)
        place, proxy = s3_place(s3), Proxy(s3.port)
        options = place.options | {"s3.endpoint": proxy.endpoint}
        try:
            path = f"{place.root}/events"
            spark.table("events").write.format("indextables").options(**options).save(path)
            frame = spark.read.format("indextables").options(**options).load(path)
            frame.createOrReplaceTempView("remote_events")
            ask = lookup(spark, "remote_events")
            warm(ask)
            proxy.delay_seconds = DELAY_SECONDS
            for users in USERS:
                proxy.requests.clear()
                got = load(ask, users)
                each = len(proxy.requests) / (got.rate * SECONDS)
                what = f"{users} users, 25 ms to the store, p99 {got.p99_ms:.0f} ms"
                yield Result(f"{what}, {each:.1f} requests each", got.rate, "queries/s")
        finally:
            proxy.close()


def _sessions(what: str, connect: Callable[[], Callable[[str], int]]) -> Iterator[Result]:
    """Measure users with a session each; `connect` opens one and returns its row counter."""
    own = threading.local()
    table = f"indextables.`{corpus.folder() / f'reading-{ROWS}' / 'table'}`"

    def ask() -> None:
        if not hasattr(own, "run"):
            own.run = connect()
        if own.run(f"SELECT * FROM {table} WHERE id = {random.randrange(ROWS)}") != 1:
            raise AssertionError("not one row")

    warm(ask)
    for users in (1, 4, 16):
        got = load(ask, users)
        yield Result(f"{users} {what}, p99 {got.p99_ms:.0f} ms", got.rate, "queries/s")


def _by_connect() -> Iterator[Result]:
    from pyspark.sql.connect.session import SparkSession

    opened: list[SparkSession] = []
    with tempfile.TemporaryDirectory() as folder, connect_server(Path(folder)) as url:

        def connect() -> Callable[[str], int]:
            own = SparkSession.builder.remote(url).create()
            opened.append(own)
            return lambda sql: len(own.sql(sql).collect())

        yield from _sessions("Connect sessions", connect)
        # a session that has lost its server retries for a long time before it ends
        for each in opened:
            each.stop()


def _by_jdbc(spark: Any) -> Iterator[Result]:
    java = spark._jvm.java  # noqa: SLF001 (the driver of JDBC is in Spark)
    java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
    with tempfile.TemporaryDirectory() as folder, thrift_server(Path(folder)) as url:

        def connect() -> Callable[[str], int]:
            statement = java.sql.DriverManager.getConnection(url, "", "").createStatement()

            def run(sql: str) -> int:
                found, rows = statement.executeQuery(sql), 0
                while found.next():
                    rows += 1
                return rows

            return run

        yield from _sessions("sessions by JDBC", connect)


if __name__ == "__main__":
    for result in run():
        print(result, flush=True)
