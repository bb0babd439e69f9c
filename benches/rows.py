"""Row changes among two million rows, as ratios of rewriting the table or of using Delta Lake.

Delta Lake is measured if `delta-spark` is installed; `make bench-delta` installs it with the oldest
supported Spark, because its releases follow Spark's. Only then the bar of upserts applies. Delta's
tables use its defaults; for comparison, the same upsert also runs on tables with deletion vectors,
which are off by default, and as a rewrite of a Parquet table.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benches import corpus
from benches.reading import session
from benches.report import Result, side_by_side_ms, warm

ROWS = int(os.environ.get("INDEXTABLES_BENCH_ROWS", corpus.ROWS))
KEYS = 10_000
# one row in a hundred
CONDITION = "message indexquery 'queued AND cart'"
# upserts into every table: the first warms up, the others are measured
ROUNDS = 4


def _has_delta() -> bool:
    return importlib.util.find_spec("delta") is not None


def _session() -> Any:
    if not _has_delta():
        return session()
    return session(
        {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.jars.packages": f"io.delta:delta-spark_2.13:{version('delta-spark')}",
        }
    )


def _once_ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _scan(spark: Any, path: Path, **options: str) -> Callable[[], Any]:
    table = spark.read.format("indextables").options(**options).load(str(path))
    frame = table.select("id", "latency_ms", "message")
    return lambda: frame.write.format("noop").mode("overwrite").save()


def _save(data: Any, path: Path, mode: str = "append", **options: str) -> None:
    writer = data.write.format("indextables").mode(mode).options(**options)
    writer.option("indexing.typemap.message", "text").save(str(path))


def _deletes(spark: Any, data: Any, root: Path) -> list[Result]:
    table = root / "deletes"
    _save(data, table)
    frame = spark.read.format("indextables").load(str(table))
    total, hits = frame.count(), frame.where(CONDITION).count()
    rewriting = _once_ms(lambda: _save(frame.where(f"NOT ({CONDITION})"), root / "rewritten"))
    name = f"indextables.`{table}`"
    deleting = _once_ms(lambda: spark.sql(f"DELETE FROM {name} WHERE {CONDITION}"))
    scans = _scan(spark, table), _scan(spark, table, versionAsOf="1")
    for scan in scans:
        warm(scan)
    after, before = side_by_side_ms(*scans)
    assert spark.read.format("indextables").load(str(table)).count() == total - hits
    what = f"delete of {hits} of {total} rows, rewriting ({deleting:.0f} ms, {rewriting:.0f} ms)"
    return [
        Result(what, deleting / rewriting, bar=0.1),
        Result(f"scan after it, before ({after:.0f} ms, {before:.0f} ms)", after / before, bar=1.1),
    ]


def _upserts(spark: Any, data: Any, root: Path) -> list[Result]:
    step = max(ROUNDS, data.count() // KEYS)
    rounds = [data.where(f"id % {step} = {r}").limit(KEYS).localCheckpoint() for r in range(ROUNDS)]
    ours = _our_upserts(spark, data, rounds, root / "keyed")
    rewriting = _rewriting_ms(data, rounds[0], root / "parquet")
    what = f"upsert of {rounds[0].count()} keys ({ours:.0f} ms)"
    results = [Result(f"{what}, rewriting Parquet ({rewriting:.0f} ms)", ours / rewriting)]
    if not _has_delta():
        return [*results, Result("Delta Lake is not installed: make bench-delta", 0, "")]
    default = _delta_ms(spark, data, rounds, root / "delta")
    vectors = _delta_ms(spark, data, rounds, root / "delta-vectors", vectors=True)
    return [
        *results,
        Result(f"{what}, Delta's MERGE INTO ({default:.0f} ms)", ours / default, bar=0.2),
        Result(f"{what}, the same with deletion vectors ({vectors:.0f} ms)", ours / vectors),
    ]


def _our_upserts(spark: Any, data: Any, rounds: list[Any], table: Path) -> float:
    _save(data, table, **{"primary-key": "id"})
    times = [_once_ms(lambda changed=changed: _save(changed, table)) for changed in rounds]
    assert spark.read.format("indextables").load(str(table)).count() == data.count()
    return statistics.median(times[1:])


def _rewriting_ms(data: Any, changed: Any, path: Path) -> float:
    kept = data.join(changed.select("id"), "id", "left_anti")
    whole = kept.unionByName(changed)
    return _once_ms(lambda: whole.write.mode("overwrite").parquet(str(path)))


def _delta_ms(
    spark: Any, data: Any, rounds: list[Any], path: Path, *, vectors: bool = False
) -> float:
    """Run the same upserts as Delta's MERGE INTO."""
    writer = data.write.format("delta")
    if vectors:
        writer = writer.option("delta.enableDeletionVectors", "true")
    writer.save(str(path))
    text = (
        f"MERGE INTO delta.`{path}` t USING changed_rows s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    times = []
    for changed in rounds:
        changed.createOrReplaceTempView("changed_rows")
        times.append(_once_ms(lambda: spark.sql(text)))
    assert spark.read.format("delta").load(str(path)).count() == data.count()
    return statistics.median(times[1:])


def run(rows: int = ROWS) -> list[Result]:
    """Measure on newly written tables."""
    spark = _session()
    root = corpus.folder() / "rows"
    shutil.rmtree(root, ignore_errors=True)
    data = spark.read.parquet(str(corpus.parquet(rows))).repartition(2).localCheckpoint()
    results = [*_deletes(spark, data, root), *_upserts(spark, data, root)]
    spark.stop()
    shutil.rmtree(root, ignore_errors=True)
    return results
