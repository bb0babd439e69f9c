"""Search without Spark, beside what people use for it: the same rows, equal answers, CPU time.

Every peer that is installed answers the same queries in turns; `make bench-peers` installs them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benches.report import Result
from indextables.cli.sample import events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROWS = int(os.environ.get("INDEXTABLES_PEER_ROWS", "100000"))
REPEAT = 7
# times in a row that a query is asked in every turn
ASKED = 3
# the module of each peer, and the library it needs
PEERS = {
    "ours": "indextables",
    "lean": "indextables",
    "tantivy": "tantivy",
    "lance": "lance",
    "clickhouse": "chdb",
    "duckdb": "duckdb",
    "sqlite": "sqlite3",
}
# an engine without storage, log or SQL is the floor, not a rival
FLOOR = "tantivy"


def run() -> list[Result]:
    """Ask everybody; the value of a line is our time as a ratio of the best peer's."""
    rows = events(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        asked = {}
        for name, library in PEERS.items():
            if importlib.util.find_spec(library) is None:
                print(f"{name} is not installed and left out")
                continue
            module = importlib.import_module(f"benches.peers.{name}")
            place = Path(folder) / name
            place.mkdir()
            asked[name] = module.build(rows, place)
        times = {query: _measure(query, asked) for query in asked["ours"]}
    _show(times)
    return [_result(query, found) for query, found in times.items()]


def _measure(
    query: str, asked: Mapping[str, Mapping[str, Callable[[], object]]]
) -> dict[str, float]:
    """Median CPU milliseconds by peer; a different answer ends the run."""
    able = {name: answers[query] for name, answers in asked.items() if query in answers}
    expected = able["ours"]()
    taken: dict[str, list[float]] = {name: [] for name in able}
    for turn in range(REPEAT + 1):
        for name, ask in able.items():
            found = ask()  # brings its own data back into the processor's caches
            start = time.process_time()
            for _ in range(ASKED):
                ask()
            if turn:  # the first turn warms up
                taken[name].append((time.process_time() - start) * 1000 / ASKED)
            if found != expected:
                raise AssertionError(f"{query}: {name} answers {found}, not {expected}")
    return {name: statistics.median(values) for name, values in taken.items()}


def _show(times: Mapping[str, Mapping[str, float]]) -> None:
    table = Table("CPU ms", *PEERS)
    for query, found in times.items():
        table.add_row(query, *(f"{found[p]:.3f}" if p in found else "" for p in PEERS))
    Console().print(table)


def _result(query: str, found: Mapping[str, float]) -> Result:
    rivals = {name: ms for name, ms in found.items() if name not in ("ours", "lean", FLOOR)}
    best = min(rivals, key=lambda name: rivals[name])
    return Result(f"{query}, of {best}", found["ours"] / rivals[best], bar=1.0)
