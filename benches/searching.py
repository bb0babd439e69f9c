"""Substrings by trigrams, and the best rows by score, over two million messages."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from benches import corpus
from benches.reading import Case, beside_parquet, prepare, session
from benches.report import Result, side_by_side_ms, warm

SUBSTRINGS = (
    Case(
        "substring of few rows, id and message",
        "SELECT id, message FROM {t} WHERE message LIKE '%voice 69780%'",
        0.1,
    ),
    Case(
        "substring, count", "SELECT count(*) FROM {t} WHERE contains(message, 'nnection re')", 0.1
    ),
    Case("substring, any case", "SELECT count(*) FROM {t} WHERE message ILIKE '%FRAUD SCO%'", 0.1),
)
_BEST = (
    "SELECT id, _score FROM {t} WHERE message indexquery 'timeout payment' "
    "ORDER BY _score DESC LIMIT 10"
)
_SCORE = "spark.indextables.read.score"


def _with_trigrams(spark: Any, rows: int) -> None:
    """Write the rows of `parquet_events` with trigrams of messages, as the view `parts`."""
    root = corpus.folder() / f"parts-{rows}"
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        writer = spark.table("parquet_events").write.format("indextables")
        writer.option("indexing.typemap.message", "text+ngram").save(str(root / "table"))
        (root / "done").touch()
    spark.read.format("indextables").load(str(root / "table")).createOrReplaceTempView("parts")


def _scored(spark: Any, score: str) -> Callable[[], Any]:
    def run() -> Any:
        spark.conf.set(_SCORE, score)
        return spark.sql(_BEST.format(t="events")).collect()

    return run


def run(rows: int = corpus.ROWS) -> list[Result]:
    """Measure every case side by side; the answers must agree."""
    spark = session()
    prepare(spark, rows)
    _with_trigrams(spark, rows)
    results = beside_parquet(spark, SUBSTRINGS, "parts")
    table, split = _scored(spark, "table"), _scored(spark, "split")
    warm(table)
    warm(split)
    table_ms, split_ms = side_by_side_ms(table, split)
    what = f"top 10 by score ({table_ms:.0f} ms, by split {split_ms:.0f} ms)"
    results.append(Result(what, table_ms / split_ms, bar=1.2))
    spark.stop()
    return results
