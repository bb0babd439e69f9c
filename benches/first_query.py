"""The first query of a new Spark session, as a ratio of Parquet's first query in a new session."""

from __future__ import annotations

import statistics
import subprocess
import sys

from benches import corpus
from benches.reading import prepare, session
from benches.report import Result

ROWS = 200_000
_TURNS = 5
_QUERIES = {
    "count of a level": "SELECT count(*) FROM {t} WHERE level = 'ERROR'",
    "lookup of one id": "SELECT * FROM {t} WHERE id = 123456",
}
# the session starts before the clock does: both sides have paid for it
_FIRST = """
import sys, time
from benches.reading import session
spark = session()
format, path, query = sys.argv[1:]
start = time.perf_counter()
spark.read.format(format).load(path).createOrReplaceTempView("t")
rows = len(spark.sql(query.format(t="t")).collect())
print(rows, time.perf_counter() - start)
"""


def _first(kind: str, query: str) -> tuple[int, float]:
    """The number of rows and the seconds of the first query of a new process."""
    folder = corpus.folder() / f"reading-{ROWS}" / ("table" if kind == "indextables" else kind)
    command = [sys.executable, "-c", _FIRST, kind, str(folder), query]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    rows, seconds = done.stdout.split()[-2:]
    return int(rows), float(seconds)


def run() -> list[Result]:
    """Measure new sessions of both in turn; their answers must agree."""
    spark = session()
    prepare(spark, ROWS)
    spark.stop()
    results = []
    for what, query in _QUERIES.items():
        taken: dict[str, list[float]] = {"indextables": [], "parquet": []}
        for _ in range(_TURNS):
            found = {}
            for kind, times in taken.items():
                found[kind], seconds = _first(kind, query)
                times.append(seconds)
            if found["indextables"] != found["parquet"]:
                raise AssertionError(f"answer differs from Parquet: {what}")
        ours, theirs = (statistics.median(times) for times in taken.values())
        line = f"first query of a session, {what} ({ours:.1f} s, Parquet {theirs:.1f} s)"
        results.append(Result(line, ours / theirs, bar=1.2))
    return results
