"""Queries over two million rows, as ratios of Parquet's times in the same session.

Search in Parquet is a whole-word regular expression. The time of a query that does nothing,
Spark's lower bound, is reported with them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches import corpus
from benches.report import Result, median_ms, side_by_side_ms, warm


@dataclass(frozen=True)
class Case:
    """A query, its form for Parquet where that differs, and its bar."""

    what: str
    sql: str
    bar: float
    parquet: str | None = None


def _word(text: str) -> str:
    return f"message RLIKE '(?i)\\\\b{text}\\\\b'"


def _joined(keys: int) -> str:
    """Join with keys spread over the table; every row is read with all columns."""
    columns = "max(e.ts), max(e.service), max(e.host), sum(e.latency_ms), max(length(e.message))"
    return f"SELECT count(*), {columns} FROM {{t}} e JOIN keys_{keys} k ON e.id = k.id"


CASES = (
    Case("count(*)", "SELECT count(*) FROM {t}", 0.25),
    Case("lookup of one id, all columns", "SELECT * FROM {t} WHERE id = 1234567", 0.18),
    Case("count of a level", "SELECT count(*) FROM {t} WHERE level = 'ERROR'", 0.1),
    Case(
        "rare words, all columns",
        "SELECT * FROM {t} WHERE message indexquery '\"fraud score 80 invoice 697804\"'",
        0.04,
        f"SELECT * FROM {{t}} WHERE {_word('fraud score 80 invoice 697804')}",
    ),
    Case(
        "10,000 hits, id and message",
        "SELECT id, message FROM {t} WHERE message indexquery '\"attempt 3\" AND retried' "
        "LIMIT 10000",
        0.15,
        f"SELECT id, message FROM {{t}} WHERE {_word('attempt 3')} AND {_word('retried')} "
        "LIMIT 10000",
    ),
    Case(
        "boolean count",
        "SELECT count(*) FROM {t} WHERE message indexquery 'timeout AND (payment OR login)'",
        0.05,
        f"SELECT count(*) FROM {{t}} WHERE {_word('timeout')} AND {_word('(payment|login)')}",
    ),
    Case(
        "phrase count",
        "SELECT count(*) FROM {t} WHERE message indexquery '\"connection reset\"'",
        0.05,
        f"SELECT count(*) FROM {{t}} WHERE {_word('connection reset')}",
    ),
    Case(
        "time range and level",
        "SELECT count(*) FROM {t} WHERE ts >= '2026-01-01 10:00:00' AND "
        "ts < '2026-01-01 11:00:00' AND level = 'ERROR'",
        0.15,
    ),
    Case(
        "sum, avg, min, max with a filter",
        "SELECT sum(status), avg(latency_ms), min(latency_ms), max(latency_ms) FROM {t} "
        "WHERE service = 'payment'",
        0.17,
    ),
    Case("GROUP BY service", "SELECT service, count(*) FROM {t} GROUP BY service", 0.2),
    Case(
        "search, top 10 by time",
        "SELECT id, ts, message FROM {t} WHERE message indexquery 'timeout' "
        "ORDER BY ts DESC LIMIT 10",
        0.04,
        f"SELECT id, ts, message FROM {{t}} WHERE {_word('timeout')} ORDER BY ts DESC LIMIT 10",
    ),
    Case("prefix LIKE", "SELECT count(*) FROM {t} WHERE host LIKE 'node-01%'", 0.3),
    Case("join with 100 keys, all columns", _joined(100), 0.1),
    Case("join with 10,000 keys, all columns", _joined(10_000), 0.5),
)


def session(more: Mapping[str, str] | None = None) -> Any:
    """A local session with two cores; `more` overrides the settings of all benchmarks."""
    from pyspark.sql import SparkSession

    import indextables

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in {
        "spark.driver.memory": "4g",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        **(more or {}),
    }.items():
        builder = builder.config(key, value)
    return indextables.configure(builder).getOrCreate()


def prepare(spark: Any, rows: int = corpus.ROWS) -> None:
    """Write the rows in both formats, one file per core, as views `events` and `parquet_events`."""
    root = corpus.folder() / f"reading-{rows}"
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        data = spark.read.parquet(str(corpus.parquet(rows))).repartition(2)
        data.write.option("compression", "zstd").parquet(str(root / "parquet"))
        again = spark.read.parquet(str(root / "parquet"))
        writer = again.write.format("indextables").option("indexing.typemap.message", "text")
        writer.save(str(root / "table"))
        (root / "done").touch()
    for keys in (100, 10_000):
        spark.range(keys).selectExpr(f"id * {rows // keys} AS id").write.mode("overwrite").parquet(
            str(root / f"keys-{keys}")
        )
        spark.read.parquet(str(root / f"keys-{keys}")).createOrReplaceTempView(f"keys_{keys}")
    spark.read.parquet(str(root / "parquet")).createOrReplaceTempView("parquet_events")
    spark.read.format("indextables").load(str(root / "table")).createOrReplaceTempView("events")


def shown(rows: list[Any]) -> list[str]:
    """Make rows comparable: sums of doubles depend on the order of addition, in Spark too."""
    rounded = ([f"{v:.9g}" if isinstance(v, float) else str(v) for v in row] for row in rows)
    return sorted(map(str, rounded))


def _collect(spark: Any, sql: str) -> Callable[[], Any]:
    return lambda: spark.sql(sql).collect()


def beside_parquet(spark: Any, cases: Iterable[Case], view: str) -> list[Result]:
    """Measure every case over a view and over Parquet, warmed up; their answers must agree."""
    pairs = [
        (
            case,
            _collect(spark, case.sql.format(t=view)),
            _collect(spark, (case.parquet or case.sql).format(t="parquet_events")),
        )
        for case in cases
    ]
    for _, ours, theirs in pairs:
        warm(ours)
        warm(theirs)
    results = []
    for case, ours, theirs in pairs:
        if "LIMIT 10000" not in case.sql and shown(ours()) != shown(theirs()):
            raise AssertionError(f"answer differs from Parquet: {case.what}")
        ours_ms, theirs_ms = median_ms(ours), median_ms(theirs)
        what = f"{case.what} ({ours_ms:.0f} ms, Parquet {theirs_ms:.0f} ms)"
        results.append(Result(what, ours_ms / theirs_ms, bar=case.bar))
    return results


def _scan(spark: Any, view: str) -> Callable[[], Any]:
    query = f"SELECT id, latency_ms, message FROM {view}"
    return lambda: spark.sql(query).write.format("noop").mode("overwrite").save()


def run() -> list[Result]:
    """Measure every case on both; their answers must agree."""
    spark = session()
    prepare(spark)
    nothing = {
        "Spark's lower bound: a query without a job": _collect(spark, "VALUES (1)"),
        "Spark's lower bound: a query with a job that does nothing": _collect(
            spark, "SELECT id FROM range(10)"
        ),
    }
    for work in nothing.values():
        warm(work)
    results = [Result(what, median_ms(work), "ms") for what, work in nothing.items()]
    results += beside_parquet(spark, CASES, "events")
    ours, theirs = _scan(spark, "events"), _scan(spark, "parquet_events")
    warm(ours)
    warm(theirs)
    ours_ms, theirs_ms = side_by_side_ms(ours, theirs)
    what = f"full scan of three columns ({ours_ms:.0f} ms, Parquet {theirs_ms:.0f} ms)"
    results.append(Result(what, ours_ms / theirs_ms, bar=1.5))
    spark.stop()
    return results


def size_of(path: Path) -> int:
    """The total size in bytes of the files in a folder."""
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
