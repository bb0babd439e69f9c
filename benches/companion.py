"""Companions of a Delta table of two million rows: building them, and queries through them.

The table has twenty files. Queries are compared with Spark over the same Parquet files, or with an
IndexTables table that holds its own rows. Rates use wall-clock time: run on an idle machine.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import write_deltalake

from benches import corpus
from benches.reading import session, shown, size_of
from benches.report import Result, median_ms, side_by_side_ms, warm
from indextables.config.settings import Settings
from indextables.sources.open import SourceName, open_source

FILES = 20
# one file in a hundred, by rows
PENDING = 0.01
_RARE = "fraud score 80 invoice 697804"


@dataclass(frozen=True)
class Case:
    """A query of the companion, the same query of another view, and the bar for their ratio."""

    what: str
    sql: str
    other: str
    other_sql: str
    bar: float


def _word(text: str) -> str:
    return f"message RLIKE '(?i)\\\\b{text}\\\\b'"


def _same(what: str, sql: str) -> Case:
    return Case(what, sql, "own_events", sql, 1.2)


CASES = (
    Case(
        "rare words, all columns",
        f"SELECT * FROM {{t}} WHERE message indexquery '\"{_RARE}\"'",
        "parquet_events",
        f"SELECT * FROM {{t}} WHERE {_word(_RARE)}",
        0.1,
    ),
    Case(
        "10,000 hits, three columns",
        "SELECT id, ts, message FROM {t} WHERE message indexquery '\"attempt 3\" AND retried' "
        "LIMIT 10000",
        "parquet_events",
        f"SELECT id, ts, message FROM {{t}} WHERE {_word('attempt 3')} AND {_word('retried')} "
        "LIMIT 10000",
        0.3,
    ),
    _same("count(*)", "SELECT count(*) FROM {t}"),
    _same("count of a level", "SELECT count(*) FROM {t} WHERE level = 'ERROR'"),
    _same("count of a word", "SELECT count(*) FROM {t} WHERE message indexquery 'timeout'"),
    _same("GROUP BY service", "SELECT service, count(*) FROM {t} GROUP BY service"),
    _same(
        "sum and avg with a filter",
        "SELECT sum(status), avg(latency_ms) FROM {t} WHERE service = 'payment'",
    ),
)
_SEARCHED = "SELECT count(*), max(id) FROM {t} WHERE message indexquery 'timeout AND payment'"


def run(rows: int = corpus.ROWS) -> list[Result]:
    """Build, query, add rows to the source, query again."""
    root = corpus.folder() / f"companion-{rows}"
    shutil.rmtree(root, ignore_errors=True)
    spark = session()
    try:
        _write_source(root / "delta", rows)
        results = [*_build(spark, root, rows), _look(root / "delta"), *_queries(spark, root)]
        return [*results, _pending(spark, root, rows)]
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)


def _write_source(root: Path, rows: int) -> None:
    table = corpus.table(rows)
    step = rows // FILES
    for first in range(0, rows, step):
        write_deltalake(root, table.slice(first, step), mode="append")


def _build(spark: Any, root: Path, rows: int) -> list[Result]:
    source = spark.read.parquet(str(root / "delta"))
    writer = source.write.format("indextables").option("indexing.typemap.message", "text")
    lean = _seconds(lambda: writer.option("indexing.layout", "lean").save(str(root / "table")))
    statement = (
        f"BUILD INDEXTABLES COMPANION FOR DELTA '{root / 'delta'}' "
        f"INDEXING MODES ('message':'text') TARGET INPUT SIZE {_half(root / 'delta')} "
        f"AT LOCATION '{root / 'index'}'"
    )
    built = _seconds(lambda: spark.sql(statement).collect())
    sizes = [
        sum(file.stat().st_size for file in (root / name).rglob("*.split"))
        for name in ("index", "table")
    ]
    rate = f"build rate of the lean write ({rows / built:,.0f} and {rows / lean:,.0f} rows/s)"
    size = f"size of the lean layout ({sizes[0] >> 20} and {sizes[1] >> 20} MB)"
    return [
        Result(rate, lean / built, bar=1.0, at_most=False),
        Result(size, sizes[0] / sizes[1], bar=0.6),
    ]


def _half(root: Path) -> int:
    """Half of the files, which differ a little in size: one split per core, as the writer makes."""
    return size_of(root) * (FILES + 1) // (2 * FILES)


def _look(root: Path) -> Result:
    source = open_source(SourceName("delta", str(root)), Settings({}))
    return Result("look for a newer version of the source", median_ms(source.look), "ms", bar=5)


def _queries(spark: Any, root: Path) -> list[Result]:
    spark.read.parquet(str(root / "delta")).createOrReplaceTempView("parquet_events")
    for view, folder in (("events", "index"), ("own_events", "table")):
        spark.read.format("indextables").load(str(root / folder)).createOrReplaceTempView(view)
    return [_compare(spark, case) for case in CASES]


def _compare(spark: Any, case: Case) -> Result:
    ours = _collect(spark, case.sql.format(t="events"))
    theirs = _collect(spark, case.other_sql.format(t=case.other))
    if "LIMIT" not in case.sql and shown(ours()) != shown(theirs()):
        raise AssertionError(f"answer differs: {case.what}")
    warm(ours)
    warm(theirs)
    beside = "Parquet" if case.other == "parquet_events" else "own table"
    # eight repetitions of a ten-millisecond query would measure noise
    ours_ms, theirs_ms = side_by_side_ms(ours, theirs, repeat=8 if beside == "Parquet" else 60)
    what = f"{case.what} ({ours_ms:.0f} ms, {beside} {theirs_ms:.0f} ms)"
    return Result(what, ours_ms / theirs_ms, bar=case.bar)


def _pending(spark: Any, root: Path, rows: int) -> Result:
    """Compare a search with some files not indexed yet to a search of the indexed files alone."""
    table = corpus.table(rows).slice(0, int(rows * PENDING))
    write_deltalake(root / "delta", table, mode="append")
    reader = spark.read.format("indextables")
    reader.load(str(root / "index")).createOrReplaceTempView("behind")
    indexed = reader.option("companion.readVersion", "indexed").load(str(root / "index"))
    indexed.createOrReplaceTempView("indexed")
    behind, complete = (_collect(spark, _SEARCHED.format(t=view)) for view in ("behind", "indexed"))
    if behind()[0][0] <= complete()[0][0]:
        raise AssertionError("rows that are not indexed were not found")
    warm(behind)
    warm(complete)
    behind_ms, complete_ms = side_by_side_ms(behind, complete)
    what = f"search with 1 % of the files pending ({behind_ms:.0f} ms, none {complete_ms:.0f} ms)"
    return Result(what, behind_ms / complete_ms, bar=3)


def _collect(spark: Any, sql: str) -> Callable[[], Any]:
    return lambda: spark.sql(sql).collect()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
