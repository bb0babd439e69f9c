"""Look up one row among 200,000, warm, as a ratio of Parquet's time in the same session."""

from __future__ import annotations

from benches.reading import prepare, session
from benches.report import Result, median_ms

ROWS = 200_000
SQL = "SELECT * FROM {t} WHERE id = 123456"


def run() -> list[Result]:
    """Measure the lookup on both; their answers must agree."""
    spark = session()
    prepare(spark, ROWS)

    def ask(view: str) -> list[object]:
        return list(spark.sql(SQL.format(t=view)).collect())

    if ask("events") != ask("parquet_events"):
        raise AssertionError("answer differs from Parquet")
    ours = median_ms(lambda: ask("events"))
    theirs = median_ms(lambda: ask("parquet_events"))
    spark.stop()
    what = f"lookup of one row among {ROWS:,} ({ours:.0f} ms, Parquet {theirs:.0f} ms)"
    return [Result(what, ours / theirs, bar=1.0)]
