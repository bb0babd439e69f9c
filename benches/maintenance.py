"""MERGE SPLITS of 20 splits of 50,000 rows each, in a separate process to measure its memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benches import corpus
from benches.report import Result

SPLITS, ROWS = 20, 50_000
_RATE, _MEMORY_MB = 100_000, 1024
_MERGE = """
import json, resource, sys, time
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

wall, cpu = time.perf_counter(), time.process_time()
(row,) = execute(f"MERGE SPLITS '{sys.argv[1]}'", LocalContext()).to_pylist()
used = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({**used, "peak": peak, **row["metrics"]}))
"""


def prepare() -> Path:
    """Copy the table, which is kept because it takes long to make."""
    import indextables

    kept = corpus.folder() / f"merge-{SPLITS}x{ROWS}"
    if not (kept / "done").exists():
        shutil.rmtree(kept, ignore_errors=True)
        rows = corpus.table().slice(0, SPLITS * ROWS)
        for number in range(SPLITS):
            part = rows.slice(number * ROWS, ROWS)
            options = {"indexing.typemap.message": "text"}
            indextables.write(part, str(kept / "table"), options=options)
        (kept / "done").touch()
    fresh = corpus.folder() / "merging"
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(kept / "table", fresh)
    return fresh


def run() -> list[Result]:
    """Merge once and check that nothing was lost."""
    import indextables

    path = prepare()
    done = subprocess.run(
        [sys.executable, "-c", _MERGE, str(path)], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    table = indextables.open(str(path))
    if (found["merged_files"], table.num_rows) != (SPLITS, SPLITS * ROWS):
        raise AssertionError(f"{found} left {table.num_rows} rows")
    shutil.rmtree(path)
    rows = SPLITS * ROWS
    what = f"MERGE SPLITS of {SPLITS} x {ROWS:,} rows"
    return [
        Result(f"{what}, rate", rows / found["wall"], "rows/s", _RATE, at_most=False),
        Result(f"{what}, rate per CPU second", rows / found["cpu"], "rows/s"),
        Result(f"{what}, peak memory", found["peak"], "MB", _MEMORY_MB),
    ]
