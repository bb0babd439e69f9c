"""Writing through Spark: the cost of its pipes, worker memory, size on disk, and tiny appends.

The rate is compared with the engine alone, one thread, over the same rows. Both use wall-clock
time: run on an idle machine.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benches import corpus, corpus_versions
from benches.reading import session
from benches.report import Result
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter

ROWS = int(os.environ.get("INDEXTABLES_BENCH_ROWS", corpus.ROWS))
CORES = 2
HEAP = 256 << 20
VERSIONS = (10, 10_000)
APPENDS = 9


def run() -> list[Result]:
    """Measure everything in one Spark session."""
    with tempfile.TemporaryDirectory(dir=corpus.folder()) as folder:
        spark = session({"spark.sql.files.maxPartitionBytes": "16m"})
        try:
            return [*_rates(spark, folder), *_tiny_appends(spark, folder)]
        finally:
            spark.stop()


def _rates(spark: Any, folder: str) -> list[Result]:
    source = corpus.parquet(ROWS)
    rows = spark.read.parquet(str(source))
    _save(rows.limit(1000), f"{folder}/warm", "compatible")
    results = []
    for layout in ("compatible", "lean"):
        alone = ROWS / _seconds(lambda layout=layout: _engine(folder, layout))
        path = f"{folder}/{layout}"
        memory = WorkerMemory()
        with memory:
            rate = ROWS / _seconds(lambda path=path, layout=layout: _save(rows, path, layout))
        written = sum(file.stat().st_size for file in Path(path).rglob("*.split"))
        results += [
            Result(f"{layout}: rate through Spark", rate / 1000, "k rows/s"),
            Result(f"{layout}: of {CORES} engines alone", rate / (CORES * alone), bar=0.7,
                   at_most=False),
            Result(f"{layout}: peak memory of a worker", memory.peak / (1 << 20), "MB",
                   bar=(HEAP >> 20) + 500),
            Result(f"{layout}: size of Parquet's", written / source.stat().st_size),
        ]  # fmt: skip
        shutil.rmtree(path)
    return results


def _save(rows: Any, path: str, layout: str) -> None:
    writer = rows.write.format("indextables").mode("overwrite")
    writer = writer.option("indexing.typemap.message", "text").option("indexing.layout", layout)
    writer.option("indexWriter.heapSize", str(HEAP)).save(path)


def _engine(folder: str, layout: str) -> None:
    rows = corpus.table(ROWS)
    writer = SplitWriter(
        rows.schema,
        [{"name": "message", "role": "text"}],
        {"layout": layout, "heap_bytes": HEAP, "temp_dir": folder},
    )
    for batch in rows.to_batches(max_chunksize=8192):
        writer.write(batch)
    writer.finish(open_store(folder, "{}"), "alone.split")


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _tiny_appends(spark: Any, folder: str) -> list[Result]:
    """Append to the tables in turn, so that noise affects both alike."""
    rows = spark.range(0, 10, 1, 1).selectExpr("id", "concat('row ', id) AS message")
    times: dict[int, list[float]] = {versions: [] for versions in VERSIONS}
    for versions in VERSIONS:
        corpus_versions.make(f"{folder}/{versions}", versions)
    for _ in range(APPENDS):
        for versions, taken in times.items():
            writer = rows.write.format("indextables").mode("append")
            taken.append(_seconds(lambda v=versions, w=writer: w.save(f"{folder}/{v}")))
    few, many = (statistics.median(taken) for taken in times.values())
    return [
        Result("append of 10 rows", many * 1000, "ms"),
        Result(f"the same with {VERSIONS[1]} versions to {VERSIONS[0]}", many / few, bar=1.3),
    ]


class WorkerMemory:
    """The peak memory of any of Spark's Python workers while a block ran."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if b"pyspark.daemon" in (process / "cmdline").read_bytes() and _ours(process):
                        self.peak = max(self.peak, _high_water(process))
                except OSError:
                    continue  # the process has ended


def _ours(process: Path) -> bool:
    """Whether a process descends from this one: other sessions may be running."""
    number = int(process.name)
    while number not in (0, os.getpid()):
        status = Path(f"/proc/{number}/status").read_text()
        number = int(status.partition("PPid:")[2].split()[0])
    return number != 0


def _high_water(process: Path) -> int:
    for line in (process / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
