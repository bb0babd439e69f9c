"""Sizes of the parts of splits, next to zstd Parquet of the same rows; and the cost of hits.

Runs without Spark, on one split of each layout. Sizes do not depend on the build profile; times are
CPU time and are meaningful only with a release build.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benches import corpus
from benches.engine_read import cpu_ms
from benches.report import Result
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter

ROWS = 1_000_000
HITS = 10_000
FIELDS = [{"name": "message", "role": "text"}]
HEAP = 1 << 30


def run() -> list[Result]:
    """Measure both layouts over the first half of the corpus."""
    rows = corpus.table().slice(0, ROWS).combine_chunks()
    with tempfile.TemporaryDirectory(dir=corpus.folder()) as folder:
        parquet = Path(folder) / "rows.parquet"
        pq.write_table(rows, parquet, compression="zstd")
        found = [Result("Parquet: all", parquet.stat().st_size / ROWS, "bytes per row")]
        for layout in ("compatible", "lean"):
            found += _layout(layout, rows, folder, parquet.stat().st_size)
    return found


def _layout(layout: str, rows: pa.Table, folder: str, parquet: int) -> list[Result]:
    store, path = open_store(folder), f"{layout}.split"
    writer = SplitWriter(rows.schema, FIELDS, {"layout": layout, "heap_bytes": HEAP})
    for batch in rows.to_batches(max_chunksize=8192):
        writer.write(batch)
    size = writer.finish(store, path).size
    split = Split(store, path, schema=rows.schema)
    parts = {part["component_key"]: part["size_bytes"] for part in split.components()}
    parts["the rest"] = size - sum(parts.values())
    return [
        Result(f"{layout}: size of Parquet's", size / parquet),
        *(Result(f"{layout}: {n}", b / ROWS, "bytes per row") for n, b in parts.items()),
        *_hits(layout, split, rows),
    ]


def _hits(layout: str, split: Split, rows: pa.Table) -> list[Result]:
    """Fetch known rows that are scattered, and rows that are adjacent."""
    schema = pa.schema([rows.schema.field("id"), rows.schema.field("message")])
    ids = rows["id"]
    chosen = {
        "all over the split": sorted(random.Random(7).sample(range(ROWS), HITS)),
        "in a row": range(ROWS // 4, ROWS // 4 + HITS),
    }
    found = []
    for where, positions in chosen.items():
        values = ids.take(pa.array(positions)).to_pylist()
        query: dict[str, Any] = {"type": "set", "field": "id", "values": values}
        only = pa.schema([schema.field("id")])
        both = cpu_ms(lambda q=query: split.table(q, schema))
        finding = cpu_ms(lambda q=query, s=only: split.table(q, s))
        cost = (both - finding) * 1000 / HITS
        found.append(Result(f"{layout}: the text of a hit, {where}", cost, "µs"))
        found.append(
            Result(f"{layout}: finding a hit and its id, {where}", finding * 1000 / HITS, "µs")
        )
    return found
