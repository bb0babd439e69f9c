"""Growth of costs: each is measured at n, 2n and 4n, and reported with the exponent of its growth.

Figures are CPU seconds of dedicated processes, so that other work on the machine matters little. An
exponent of 1 means proportional growth, 0 means none.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from tests.stores import signing
from tests.stores.conftest import ACCESS_KEY, BUCKET, SECRET_KEY, s3_place
from tests.stores.proxy import Proxy
from tests.stores.servers import minio

import indextables
from benches import corpus, corpus_versions
from benches.log import best
from benches.log import measure as probe
from benches.report import Result, cpu_seconds
from indextables.commands.purge import run_purge
from indextables.config.settings import resolve
from indextables.log import Operation, Transaction, open_log
from indextables.read.table import open_table
from indextables.runtime import handles
from indextables.runtime.counts import take_counts
from indextables.runtime.steps import finish
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.storage import open_store

STEPS = (1, 2, 4)
SPLITS, ROWS, VERSIONS, PARTITIONS, ORPHANS, MERGED = 50_000, 50_000, 500, 50, 1_000, 5
COMMITS = 20
_REPEATS = 5
# to an object store
DELAY_SECONDS = 0.025
OPTIONS = {"indexing.typemap.message": "text"}
_PREFIX = "spark.indextables."
Costs = dict[str, list[float]]


def run() -> Iterator[Result]:
    """Measure."""
    for what, unit, cost in (
        (f"{SPLITS:,} splits", "s CPU", _splits),
        (f"{VERSIONS:,} versions", "s CPU", _versions),
        (f"{ROWS:,} rows", "s CPU", _rows),
        (f"{PARTITIONS} partitions", "s CPU", _partitions),
        (f"{MERGED} splits of 5,000 rows", "s CPU", _merge),
        (f"{ORPHANS:,} orphans", "s CPU", _purge),
        (f"{PARTITIONS} splits", "s CPU", _repair),
        ("1 writer", "per commit", _writers),
    ):
        found: Costs = {}
        for step in STEPS:
            with tempfile.TemporaryDirectory() as folder:
                for name, spent in cost(f"{folder}/t", step).items():
                    found.setdefault(name, []).append(spent)
        for name, (one, two, four) in found.items():
            shown = f"{name}: {one:.3g}, {two:.3g}, {four:.3g} {unit} at {what}, 2n, 4n"
            if one and four:
                yield Result(shown, math.log(four / one, STEPS[-1]), "exponent")
            else:
                yield Result(shown, four, unit)
    yield from _remote()


def _splits(path: str, step: int) -> dict[str, float]:
    count = SPLITS * step
    probe("make_ours", path, count)
    opened, planned = best("open_ours", path), best("plan_ours", path)
    appended = probe("append_ours", path, 100)
    return {
        "open and list": opened["cpu"],
        "plan one of 365 partitions": planned["cpu"],
        "append 100 splits and checkpoint": appended["cpu"],
        "memory to open and list (MB)": opened["peak_mb"],
        "bytes written by the append (KB)": appended["written"] / 1024,
    }


def _versions(path: str, step: int) -> dict[str, float]:
    corpus_versions.make(path, VERSIONS * step)
    cold = cpu_seconds(lambda: open_log(open_store(path)).snapshot().num_files)
    log = open_log(open_store(path))
    log.snapshot()
    look = _least(lambda: [log.snapshot() for _ in range(1000)])
    history = _least(lambda: list(log.history(100)))
    return {"open": cold, "1,000 looks": look, "history of 100 versions": history}


def _rows(path: str, step: int) -> dict[str, float]:
    rows = corpus.table(ROWS * STEPS[-1]).slice(0, ROWS * step)
    spent = {"write": cpu_seconds(lambda: indextables.write(rows, path, options=OPTIONS))}
    table = indextables.open(path)
    queries: dict[str, Callable[[], object]] = {
        "count of a level": lambda: table.count("level = 'ERROR'"),
        "100 lookups": lambda: [table.scan(where=f"id = {n}") for n in range(100)],
        "search, best 10": lambda: table.search("timeout", ["id"], 10),
        "group by service": lambda: table.aggregate(["count(*)"], by=["service"]),
        "scan of two columns": lambda: table.scan(["id", "level"]),
    }
    return spent | {name: _least(ask) for name, ask in queries.items()}


def _least(ask: Callable[[], object]) -> float:
    """The minimum CPU seconds of several runs of a query."""
    return min(cpu_seconds(ask) for _ in range(_REPEATS))


def _partitions(path: str, step: int) -> dict[str, float]:
    count = PARTITIONS * step
    rows = corpus.table(ROWS).slice(0, 20_000)
    part = pa.array([n % count for n in range(rows.num_rows)], pa.int32())
    rows = rows.select(["id", "level"]).append_column("part", part)
    write = cpu_seconds(lambda: indextables.write(rows, path, partition_by=["part"]))
    handles.flush()
    table = indextables.open(path)
    one = cpu_seconds(lambda: table.count("part = 7"))
    every = cpu_seconds(lambda: table.count("level = 'ERROR'"))
    return {"write 20,000 rows": write, "count in one": one, "count in all, cold": every}


def _merge(path: str, step: int) -> dict[str, float]:
    rows = corpus.table(ROWS * STEPS[-1])
    for number in range(MERGED * step):
        indextables.write(rows.slice(number * 5_000, 5_000), path, options=OPTIONS)
    return {"merge": cpu_seconds(lambda: execute(f"MERGE SPLITS '{path}'", LocalContext()))}


def _purge(path: str, step: int) -> dict[str, float]:
    indextables.write(pa.table({"id": [1]}), path)
    for number in range(ORPHANS * step):
        (Path(path) / "splits" / f"split-{number}.split").touch()
    return {
        "purge, listing": cpu_seconds(lambda: purge(path, {}, dry_run=True)),
        "purge, listing and deleting": cpu_seconds(lambda: purge(path, {}, dry_run=False)),
    }


def purge(path: str, options: Mapping[str, str], *, dry_run: bool) -> None:
    """Run PURGE without Spark, regardless of the age of the files."""
    door = LocalContext({**_session(options), f"{_PREFIX}purge.retentionCheckEnabled": "false"})
    finish(run_purge(open_table(path, door), older_than_hours=0, dry_run=dry_run), door)


def _session(options: Mapping[str, str]) -> dict[str, str]:
    return {f"{_PREFIX}{key}": value for key, value in options.items()}


def _partitioned(path: str, count: int, options: Mapping[str, str] | None = None) -> None:
    """Make a table of many small splits."""
    rows = pa.table({"id": range(count), "part": range(count)})
    indextables.write(rows, path, partition_by=["part"], options=options)


def _repair(path: str, step: int) -> dict[str, float]:
    _partitioned(path, PARTITIONS * step)
    shutil.rmtree(f"{path}/_transaction_log")
    return {"repair": cpu_seconds(lambda: repair(path, {}, PARTITIONS * step))}


def repair(path: str, options: Mapping[str, str], splits: int) -> None:
    """Run REPAIR on a table that has lost its log."""
    text = f"REPAIR INDEXFILES TRANSACTION LOG '{path}/_transaction_log'"
    (row,) = execute(text, LocalContext(_session(options))).to_pylist()
    if row["valid_splits"] != splits:
        raise AssertionError(row)


def _writers(path: str, step: int) -> dict[str, float]:
    """Append to one table from several writers as fast as they can."""
    corpus_versions.make(path, 1)
    take_counts()

    def write(_: int) -> None:
        log = open_log(open_store(path))
        for _ in range(COMMITS):
            log.commit(Transaction(Operation.APPEND, log.snapshot().version))

    def work() -> None:
        with ThreadPoolExecutor(step) as pool:
            list(pool.map(write, range(step)))

    spent, counts = cpu_seconds(work), take_counts()
    commits = COMMITS * step
    if counts["commits"] != commits:
        raise AssertionError(f"{counts} of {commits} commits")
    shutil.rmtree(path)
    return {
        "CPU (ms)": 1000 * spent / commits,
        "retries": counts.get("commitRetries", 0) / commits,
    }


def _remote() -> Iterator[Result]:
    """Measure work on an object store behind a proxy that delays every request."""
    with tempfile.TemporaryDirectory() as folder, minio(Path(folder), ACCESS_KEY, SECRET_KEY) as s3:
        signing.make_bucket(s3.endpoint, BUCKET, ACCESS_KEY, SECRET_KEY)
        place, proxy = s3_place(s3), Proxy(s3.port)
        slow = place.options | {"s3.endpoint": proxy.endpoint}
        try:
            for what, count, prepare, work in _REMOTE:
                path = f"{place.root}/{work.__name__}"
                prepare(path, count, place.options)
                proxy.requests.clear()
                proxy.delay_seconds = DELAY_SECONDS
                start = time.perf_counter()
                work(path, count, slow)
                took = time.perf_counter() - start
                proxy.delay_seconds = 0.0
                shown = f"{what}, 25 ms to the store ({len(proxy.requests)} requests)"
                yield Result(shown, 1000 * took / count, "ms each")
        finally:
            proxy.close()


def _remote_orphans(path: str, count: int, options: Mapping[str, str]) -> None:
    indextables.write(pa.table({"id": [1]}), path, options=options)
    store = open_store(path, resolve(options))
    with ThreadPoolExecutor(16) as pool:
        names = (f"splits/split-{number}.split" for number in range(count))
        for _ in pool.map(lambda name: store.put(name, b""), names):
            pass


def _remote_splits(path: str, count: int, options: Mapping[str, str]) -> None:
    _partitioned(path, count, options)
    store = open_store(path, resolve(options))
    store.delete([meta.path for meta in store.list("_transaction_log")])


def _remote_table(path: str, _: int, options: Mapping[str, str]) -> None:
    indextables.write(pa.table({"id": [1]}), path, options=options)


def _list_remote(path: str, _: int, options: Mapping[str, str]) -> None:
    purge(path, options, dry_run=True)


def _repair_remote(path: str, count: int, options: Mapping[str, str]) -> None:
    repair(path, options, count)


def _commit_remote(path: str, count: int, options: Mapping[str, str]) -> None:
    log = open_log(open_store(path, resolve(options)), resolve(options))
    for _ in range(count):
        log.commit(Transaction(Operation.APPEND, log.snapshot().version))


_REMOTE = (
    ("purge, listing", 5_000, _remote_orphans, _list_remote),
    ("repair, splits", 50, _remote_splits, _repair_remote),
    ("commits of one writer", COMMITS, _remote_table, _commit_remote),
)


if __name__ == "__main__":
    for result in run():
        print(result, flush=True)
