"""Logs of many splits with realistic entries, and the probes `benches.log` runs on them."""

from __future__ import annotations

import json
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

DAYS, COLUMNS = 365, 10
# small appends: rows per append, appends that are measured, appends before them
ROWS, COMMITS, WARMING = 5, 320, 20
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in [("day", "date"), *((f"c{n}", "long") for n in range(COLUMNS))]
    ],
}


def days(count: int) -> list[str]:
    """The partition of each split."""
    first = np.datetime64("2025-01-01")
    return [str(first + n * DAYS // count) for n in range(count)]


def entries(count: int) -> pa.Table:
    """Statistics on ten columns, partition values, footer offsets."""
    from indextables.log.entries import SCHEMA as ENTRIES

    numbers = np.arange(count)
    texts = pa.array(numbers).cast(pa.string())
    day = pa.array(days(count))
    path = pa.compute.binary_join_element_wise(
        "day=", day, "/splits/split-0a1b2c3d-4e5f-6789-abcd-", texts, ".split", ""
    )
    lows = _maps(numbers)
    values = {
        "path": path,
        "partitionValues": pa.MapArray.from_arrays(
            pa.array(np.arange(count + 1, dtype=np.int32)), pa.array(["day"] * count), day
        ),
        "size": pa.array(numbers * 1000 + 1_000_000),
        "modificationTime": pa.array(numbers + 1_700_000_000_000),
        "dataChange": pa.array(np.full(count, True)),
        "minValues": lows,
        "maxValues": _maps(numbers + 1_000_000_007),
        "numRecords": pa.array(np.full(count, 10_000)),
        "footerStartOffset": pa.array(numbers * 1000 + 900_000),
        "footerEndOffset": pa.array(numbers * 1000 + 1_000_000),
        "hasFooterOffsets": pa.array(np.full(count, True)),
        "docMappingRef": pa.array(["z7TwwZ-tDWGD-uX5"] * count),
        "uncompressedSizeBytes": pa.array(numbers * 3000),
        "addedAtVersion": pa.array(np.full(count, 1)),
        "addedAtTimestamp": pa.array(numbers + 1_700_000_000_000),
    }
    columns = [values.get(f.name, pa.nulls(count, f.type)).cast(f.type) for f in ENTRIES]
    return pa.Table.from_arrays(columns, schema=ENTRIES)


def _maps(numbers: np.ndarray) -> pa.MapArray:
    count = len(numbers)
    keys = pa.array([f"c{n}" for n in range(COLUMNS)]).take(
        pa.array(np.tile(np.arange(COLUMNS), count))
    )
    values = np.repeat(numbers, COLUMNS) * 31 + np.tile(np.arange(COLUMNS), count)
    offsets = pa.array(np.arange(0, count * COLUMNS + 1, COLUMNS, dtype=np.int32))
    return pa.MapArray.from_arrays(offsets, keys, pa.array(values).cast(pa.string()))


class Given:
    """A base state that is not on disk yet."""

    def __init__(self, table: pa.Table) -> None:
        from indextables.log.state import StateManifest

        self.table = table
        self.state = StateManifest(0, 0, 0, 0)

    def files(self, keep: object) -> pa.Table:
        """Return every entry; `keep` is ignored."""
        del keep
        return self.table


def make_ours(path: str, count: str) -> dict:
    """Make a table whose state holds `count` splits."""
    from indextables.log import open_log
    from indextables.log.checkpoints import CheckpointWriter
    from indextables.log.snapshot import Snapshot
    from indextables.model.types import parse_schema
    from indextables.storage import open_store

    log = open_log(open_store(path))
    created = log.create(parse_schema(json.dumps(SCHEMA)), ("day",)).snapshot
    full = Snapshot(
        path,
        1,
        created.timestamp_ms,
        created.protocol,
        created.metadata,
        created.change,
        Given(entries(int(count))),
    )
    writer = CheckpointWriter(log.reader, log.settings, log.clock)
    writer.write(full, compact="a table to measure")
    return {}


def make_delta(path: str, count: str) -> dict:
    """Make the same Delta table: equal files, partitions and statistics, with a checkpoint."""
    from deltalake import DeltaTable

    total = int(count)
    log = Path(path) / "_delta_log"
    log.mkdir(parents=True)
    metadata = {
        "id": "0a1b2c3d-4e5f-6789-abcd-0123456789ab",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": ["day"],
        "configuration": {},
        "createdTime": 1,
    }
    with (log / f"{0:020d}.json").open("w") as out:
        out.write(json.dumps({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}) + "\n")
        out.write(json.dumps({"metaData": metadata}) + "\n")
        for n, day in enumerate(days(total)):
            low = {f"c{c}": n * 31 + c for c in range(COLUMNS)}
            high = {f"c{c}": (n + 1_000_000_007) * 31 + c for c in range(COLUMNS)}
            nulls = dict.fromkeys(low, 0)
            stats = {"numRecords": 10_000, "minValues": low, "maxValues": high, "nullCount": nulls}
            add = {
                "path": f"day={day}/part-0a1b2c3d-4e5f-6789-abcd-{n}.parquet",
                "partitionValues": {"day": day},
                "size": n * 1000 + 1_000_000,
                "modificationTime": n + 1_700_000_000_000,
                "dataChange": True,
                "stats": json.dumps(stats),
            }
            out.write(json.dumps({"add": add}) + "\n")
    DeltaTable(path).create_checkpoint()
    return {}


def open_ours(path: str) -> dict:
    """Open and list every split."""
    from indextables.log import open_log
    from indextables.storage import open_store

    log = open_log(open_store(path))
    start = time.process_time()
    files = log.snapshot().num_files
    return {"cpu": time.process_time() - start, "files": files}


def open_delta(path: str) -> dict:
    """Open and list every file."""
    from deltalake import DeltaTable

    start = time.process_time()
    files = pa.table(DeltaTable(path).get_add_actions()).num_rows
    return {"cpu": time.process_time() - start, "files": files}


def plan_ours(path: str) -> dict:
    """Open and list the splits of one partition."""
    from indextables.log import open_log
    from indextables.storage import open_store

    log = open_log(open_store(path))
    wanted = "2025-06-15"
    start = time.process_time()
    files = log.snapshot().files(lambda b: b["day"].min <= wanted <= b["day"].max)
    day = pa.compute.map_lookup(files["partitionValues"], pa.scalar("day"), "first")
    files = files.filter(pa.compute.equal(day, wanted))
    spent = time.process_time() - start
    return {"cpu": spent, "files": files.num_rows, "gets": log.store.counters.requests["get"]}


def append_ours(path: str, count: str) -> dict:
    """Append files and write the state that follows."""
    from indextables.log import Operation, Transaction, open_log
    from indextables.log.entries import to_adds
    from indextables.storage import open_store

    log = open_log(open_store(path))
    adds = to_adds(entries(int(count)))
    adds = [replace(a, path=a.path.replace("split-", "new-")) for a in adds]
    start = time.process_time()
    log.commit(Transaction(Operation.APPEND, log.snapshot().version, tuple(adds)))
    log.checkpoint()
    return {"cpu": time.process_time() - start, "written": log.store.counters.bytes_written}


def commit_rows(path: str, threads: str) -> dict:
    """Append a few rows at a time from several threads."""
    import indextables

    rows = pa.table({"id": list(range(ROWS)), "message": ["timeout of a request"] * ROWS})

    def work(times: int) -> None:
        for _ in range(times):
            indextables.write(rows, path)

    work(WARMING)
    start, cpu, each = time.perf_counter(), time.process_time(), COMMITS // int(threads)
    with ThreadPoolExecutor(int(threads)) as pool:
        list(pool.map(work, [each] * int(threads)))
    seconds, spent = time.perf_counter() - start, time.process_time() - cpu
    table = indextables.open(path)
    assert table.num_files == WARMING + COMMITS
    assert table.num_rows == table.num_files * ROWS
    return {"rate": COMMITS / seconds, "cpu_ms": spent / COMMITS * 1000}


if __name__ == "__main__":
    # the first conversion makes pyarrow import pandas, which must not be measured
    pa.array([""])
    found = globals()[sys.argv[1]](*sys.argv[2:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**found, "peak_mb": peak / 1024}))
