"""Opening, listing, planning and committing on tables of many splits, next to an equal Delta table.

Every figure is CPU seconds of all threads of a fresh process, without imports.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benches.report import Result

SPLITS, MANY = 70_000, 1_000_000
DAYS = 365
COLUMNS = [f"c{n}" for n in range(10)]
_COMMITS_A_SECOND = 100


def run() -> Iterator[Result]:
    """Measure."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = f"{folder}/ours", f"{folder}/theirs"
        measure("make_ours", ours, SPLITS)
        measure("make_delta", theirs, SPLITS)
        opened, delta = best("open_ours", ours), best("open_delta", theirs)
        assert opened["files"] == delta["files"] == SPLITS
        yield Result(f"open and list {SPLITS:,} splits", opened["cpu"], "s CPU", 0.2)
        yield Result("the same, an equal Delta table with deltalake", delta["cpu"], "s CPU")
        yield Result("ratio to deltalake", opened["cpu"] / delta["cpu"], "", 1.0)
        plan = best("plan_ours", ours)
        yield Result("open and plan one partition", plan["cpu"], "s CPU", 0.05)
        yield Result("manifests read for it", plan["gets"] - 2, "files", 2)
        append = measure("append_ours", ours, 100)
        yield Result("append 100 files, with a checkpoint", append["cpu"], "s CPU")
        yield Result("bytes written by it", append["written"] / 1024, "KB", 100)
    with tempfile.TemporaryDirectory() as folder:
        measure("make_ours", f"{folder}/many", MANY)
        many = measure("open_ours", f"{folder}/many")
        assert many["files"] == MANY
        yield Result(f"open and list {MANY:,} splits", many["cpu"], "s CPU", 3)
        yield Result("memory of that process at its peak", many["peak_mb"] / 1024, "GB", 1.5)
    yield from run_commits()


def run_commits() -> Iterator[Result]:
    """Append a few rows at a time: the engine's splits and the versions of the log."""
    for threads in (1, 16):
        with tempfile.TemporaryDirectory() as folder:
            found = measure("commit_rows", f"{folder}/small", threads)
        who = "one thread" if threads == 1 else f"{threads} threads"
        what = f"appends of 5 rows by {who}"
        yield Result(what, found["rate"], "a second", _COMMITS_A_SECOND, at_most=False)
        yield Result("CPU time of one", found["cpu_ms"], "ms")


def best(probe: str, path: str) -> dict[str, float]:
    """The figures of a probe in the fastest of three processes."""
    return min((measure(probe, path) for _ in range(3)), key=lambda found: found["cpu"])


def measure(probe: str, *arguments: object) -> dict[str, float]:
    """Run a probe of `benches.corpus_log` in a separate process and return its figures."""
    command = [sys.executable, "-m", "benches.corpus_log", probe, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    for result in run():
        print(result, flush=True)
