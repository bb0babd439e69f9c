"""The corpus of the benchmarks: two million log events, kept as Parquet between runs."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.cli.sample import events

ROWS = 2_000_000
_STEP = 200_000


def folder() -> Path:
    """The folder where benchmarks keep data that takes long to generate."""
    home = os.environ.get("INDEXTABLES_CACHE", str(Path.home() / ".cache" / "indextables"))
    root = Path(home) / "benches"
    root.mkdir(parents=True, exist_ok=True)
    return root


def parquet(rows: int = ROWS) -> Path:
    """The corpus as one zstd Parquet file, generated on first use."""
    path = folder() / f"events-{rows}.parquet"
    if not path.exists():
        fresh = path.with_suffix(".new")
        with pq.ParquetWriter(fresh, events(1).schema, compression="zstd") as writer:
            for first in range(0, rows, _STEP):
                count = min(_STEP, rows - first)
                writer.write_table(events(count, seed=7 + first, first_id=first))
        fresh.rename(path)
    return path


def table(rows: int = ROWS) -> pa.Table:
    """The corpus in memory."""
    return pq.read_table(parquet(rows))
