"""Changes of rows in two million, as ratios of doing the same by rewriting or with Delta Lake.

Delta Lake is measured when `delta-spark` for this Spark is installed; only then the bar of upserts
counts. Beside it stands the same upsert by rewriting a Parquet table.
"""

from __future__ import annotations

import importlib.util
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benches import corpus
from benches.reading import session
from benches.report import Result, median_ms

KEYS = 10_000
# about one row in a hundred
CONDITION = "message indexquery 'timeout AND payment'"


def _once_ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _scan(spark: Any, path: Path) -> Callable[[], Any]:
    frame = spark.read.format("indextables").load(str(path)).select("id", "latency_ms", "message")
    return lambda: frame.write.format("noop").mode("overwrite").save()


def _save(data: Any, path: Path, mode: str = "append", **options: str) -> None:
    writer = data.write.format("indextables").mode(mode).options(**options)
    writer.option("indexing.typemap.message", "text").save(str(path))


def _deletes(spark: Any, data: Any, place: Path) -> list[Result]:
    table = place / "deletes"
    _save(data, table)
    before = median_ms(_scan(spark, table), repeat=3)
    frame = spark.read.format("indextables").load(str(table))
    total, hits = frame.count(), frame.where(CONDITION).count()
    rewriting = _once_ms(lambda: _save(frame.where(f"NOT ({CONDITION})"), place / "rewritten"))
    name = f"indextables.`{table}`"
    deleting = _once_ms(lambda: spark.sql(f"DELETE FROM {name} WHERE {CONDITION}"))
    after = median_ms(_scan(spark, table), repeat=3)
    assert spark.read.format("indextables").load(str(table)).count() == total - hits
    what = f"delete of {hits} of {total} rows, rewriting ({deleting:.0f} ms, {rewriting:.0f} ms)"
    return [
        Result(what, deleting / rewriting, bar=0.1),
        Result(f"scan after it, before ({after:.0f} ms, {before:.0f} ms)", after / before, bar=1.1),
    ]


def _upserts(spark: Any, data: Any, place: Path) -> list[Result]:
    table = place / "keyed"
    _save(data, table, **{"primary-key": "id"})
    rows = data.count()
    step = max(1, rows // KEYS)
    changed = data.where(f"id % {step} = 0").limit(KEYS).selectExpr("*").localCheckpoint()
    upserting = _once_ms(lambda: _save(changed, table))
    assert spark.read.format("indextables").load(str(table)).count() == rows

    def rewrite() -> None:
        kept = data.join(changed.select("id"), "id", "left_anti")
        kept.unionByName(changed).write.mode("overwrite").parquet(str(place / "parquet"))

    rewriting = _once_ms(rewrite)
    what = f"upsert of {changed.count()} keys ({upserting:.0f} ms)"
    results = [Result(f"{what}, rewriting Parquet ({rewriting:.0f} ms)", upserting / rewriting)]
    delta = _delta_ms(spark, data, changed, place)
    if delta is None:
        return [*results, Result("Delta Lake is not installed for this Spark", 0, "")]
    return [
        *results,
        Result(f"{what}, Delta's MERGE INTO ({delta:.0f} ms)", upserting / delta, bar=0.2),
    ]


def _delta_ms(spark: Any, data: Any, changed: Any, place: Path) -> float | None:
    """The same upsert as Delta's MERGE INTO, or None without Delta."""
    if importlib.util.find_spec("delta") is None:
        return None
    path = str(place / "delta")
    data.write.format("delta").save(path)
    changed.createOrReplaceTempView("changed_rows")
    text = (
        f"MERGE INTO delta.`{path}` t USING changed_rows s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    return _once_ms(lambda: spark.sql(text))


def run(rows: int = corpus.ROWS) -> list[Result]:
    """Measure on tables made for it."""
    spark = session()
    place = corpus.folder() / "rows"
    shutil.rmtree(place, ignore_errors=True)
    data = spark.read.parquet(str(corpus.parquet(rows))).repartition(2).localCheckpoint()
    results = [*_deletes(spark, data, place), *_upserts(spark, data, place)]
    spark.stop()
    shutil.rmtree(place, ignore_errors=True)
    return results
