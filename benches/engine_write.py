"""Writing and merging splits: our writer against a bare tantivy loop over the same rows.

The loop is compiled into the engine only with the feature `bench`, so this module builds that
variant and loads it in separate processes. Figures are CPU time of one thread each, so the machine
may be busy.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from benches import corpus
from benches.report import Result

ROOT = Path(__file__).resolve().parents[1]
ROWS = int(os.environ.get("INDEXTABLES_BENCH_ROWS", corpus.ROWS))
FIELDS = [{"name": "message", "role": "text"}]
HEAP = 4 << 30  # one segment: the reference loop does not spill
PARTS, PART_ROWS = 10, 100_000


def run() -> list[Result]:
    """Run each case in a fresh process, so that no case profits from the caches of another."""
    library = build()
    found = {
        (case, layout): measure(library, case, layout)
        for case, layout in (
            ("upstream", "compatible"),
            ("loop", "compatible"),
            ("writer", "compatible"),
            ("loop", "lean"),
            ("writer", "lean"),
            ("merge", "compatible"),
            ("merge", "lean"),
        )
    }
    upstream = found["upstream", "compatible"]
    results = []
    for layout, faster, smaller in (("compatible", 1.6, 0.8), ("lean", 1.9, 0.5)):
        ours, loop, merge = (found[case, layout] for case in ("writer", "loop", "merge"))
        rate = ROWS / ours["seconds"]
        results += [
            Result(f"{layout}: rate", rate / 1000, "k rows/s"),
            Result(f"{layout}: rate of a bare loop", loop["seconds"] / ours["seconds"], bar=0.9,
                   at_most=False),
            Result(f"{layout}: rate of upstream's layout", upstream["seconds"] / ours["seconds"],
                   bar=faster, at_most=False),
            Result(f"{layout}: size of upstream's layout", ours["bytes"] / upstream["bytes"],
                   bar=smaller),
            Result(f"{layout}: merge rate of the indexing rate",
                   PARTS * PART_ROWS / merge["seconds"] / rate, bar=2.5, at_most=False),
            Result(f"{layout}: most memory of a merge", merge["memory"] / (1 << 20), "MB", bar=400),
        ]  # fmt: skip
    return results


def build() -> Path:
    """Build the engine with the bare loop in it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", corpus.folder().parent / "cargo"))
    command = ["cargo", "build", "--quiet", "--release", "--lib", "--features", "python,bench"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable}
    subprocess.run(command, cwd=ROOT / "rust", check=True, env=environment)
    library = corpus.folder() / "_native_bench.so"
    library.write_bytes((target / "release" / "libindextables_engine.so").read_bytes())
    return library


def measure(library: Path, case: str, layout: str) -> dict[str, float]:
    """CPU seconds, bytes written and peak memory of one case in a separate process."""
    corpus.parquet(ROWS)
    command = [sys.executable, "-m", "benches.engine_write", str(library), case, layout]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _load(library: str) -> Any:
    loader = ExtensionFileLoader("indextables._native", library)
    spec = spec_from_loader("indextables._native", loader)
    assert spec is not None
    native = module_from_spec(spec)
    loader.exec_module(native)
    return native


def _case(native: Any, case: str, layout: str, folder: str) -> dict[str, float]:
    options = {"layout": layout, "heap_bytes": HEAP, "temp_dir": folder}
    if case == "merge":
        return _merge(native, options, folder)
    rows = corpus.table(ROWS).combine_chunks()
    start = time.process_time()
    if case == "writer":
        written = _write(native, rows, options, folder, "a.split")["size"]
    else:
        written = native.index_plain(rows, FIELDS, options, case == "upstream")
    return {"seconds": time.process_time() - start, "bytes": written}


def _write(native: Any, rows: Any, options: dict[str, Any], folder: str, path: str) -> Any:
    writer = native.SplitWriter(rows.schema, FIELDS, options)
    for batch in rows.to_batches(max_chunksize=8192):
        writer.write(batch)
    return writer.finish(native.Store(folder), path)


def _merge(native: Any, options: dict[str, Any], folder: str) -> dict[str, float]:
    if os.fork() == 0:
        # exclude the writers' memory
        rows = corpus.table(ROWS).slice(0, PARTS * PART_ROWS).combine_chunks()
        for part in range(PARTS):
            some = rows.slice(part * PART_ROWS, PART_ROWS)
            _write(native, some, options, folder, f"{part}.split")
        os._exit(0)
    assert os.wait()[1] == 0
    inputs = [(f"{part}.split", None, None) for part in range(PARTS)]
    store = native.Store(folder)
    start = time.process_time()
    merged, _ = native.merge(inputs, store, "merged.split", options=options)
    seconds = time.process_time() - start
    assert merged["num_records"] == PARTS * PART_ROWS
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "bytes": merged["size"], "memory": memory}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=corpus.folder()) as folder:
        print(json.dumps(_case(_load(sys.argv[1]), sys.argv[2], sys.argv[3], folder)))
