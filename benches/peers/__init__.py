"""Search without Spark, next to its alternatives: the same rows, equal answers, CPU time.

All installed peers answer the same queries in turn; `make bench-peers` installs them.
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

import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from benches.peers import changing, starting
from benches.peers import queries as q
from benches.report import Result
from indextables.cli.sample import events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    import pyarrow as pa

ROWS = int(os.environ.get("INDEXTABLES_PEER_ROWS", "100000"))
REPEAT = 7
# consecutive runs of a query per turn
RUNS = 3
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
# an engine without storage, log or SQL is the lower bound, not a rival
FLOOR = "tantivy"
# bars in CPU milliseconds, for queries without a bar for their ratio
_MOST = {changing.APPEND: 30.0, starting.FIRST: 500.0}


def run() -> list[Result]:
    """Query all peers; each result is our time as a ratio of the best peer's."""
    rows = events(ROWS)
    peers = _installed()
    with tempfile.TemporaryDirectory() as folder:
        folders = {name: Path(folder) / name for name in peers}
        for path in folders.values():
            path.mkdir()
        built = {name: module.build(rows, folders[name]) for name, module in peers.items()}
        times = {query: _measure(query, rows, built) for query in built["ours"]}
        able = {name: module for name, module in peers.items() if hasattr(module, "change")}
        changes = {name: module.change(rows, folders[name]) for name, module in able.items()}
        for what in changes["ours"]:
            times[what] = changing.measure(what, rows, changes)
        scripts = {name: peer.FIRST for name, peer in peers.items() if hasattr(peer, "FIRST")}
        times[starting.FIRST] = starting.measure(_filtered(rows), scripts, folders)
    _show(times)
    # a query without a rival is shown, not judged
    judged = {what: found for what, found in times.items() if what in _MOST or _rivals(found)}
    return [_result(query, found) for query, found in judged.items()]


def _filtered(rows: pa.Table) -> int:
    """The number of messages with the word that new processes count."""
    found = pc.match_substring_regex(rows["message"], rf"(?i)\b{q.FILTERED}\b")
    return int(pc.sum(found).as_py())


def _installed() -> dict[str, ModuleType]:
    """The peers whose libraries are installed, by name."""
    found = {}
    for name, library in PEERS.items():
        if importlib.util.find_spec(library) is None:
            print(f"{name} is not installed, skipped")
        else:
            found[name] = importlib.import_module(f"benches.peers.{name}")
    return found


def _measure(
    query: str, rows: pa.Table, built: Mapping[str, Mapping[str, Callable[[], object]]]
) -> dict[str, float]:
    """Median CPU milliseconds by peer; a different answer ends the run."""
    able = {name: answers[query] for name, answers in built.items() if query in answers}
    taken: dict[str, list[float]] = {name: [] for name in able}
    for turn in range(REPEAT + 1):
        expected = None
        for name, ask in able.items():
            ms, found = _turn(ask, rows, turn)
            if turn:  # the first turn warms up
                taken[name].append(ms)
            expected = found if expected is None else expected
            if found != expected:
                raise AssertionError(f"{query}: {name} answers {found}, not {expected}")
    return {name: statistics.median(values) for name, values in taken.items()}


def _turn(ask: Callable[[], object], rows: pa.Table, turn: int) -> tuple[float, list[object]]:
    """CPU milliseconds per answer of one peer, and its answers."""
    first = turn * (RUNS + 1)
    q.wanted.choose(rows, first)
    ask()  # warms the processor's caches
    spent, answers = 0.0, []
    for number in range(first + 1, first + 1 + RUNS):
        q.wanted.choose(rows, number)
        start = time.process_time()
        answers.append(ask())
        spent += time.process_time() - start
    return spent * 1000 / RUNS, answers


def _show(times: Mapping[str, Mapping[str, float]]) -> None:
    table = Table("CPU ms", *PEERS)
    for query, found in times.items():
        table.add_row(query, *(f"{found[p]:.3f}" if p in found else "" for p in PEERS))
    Console().print(table)


def _result(query: str, found: Mapping[str, float]) -> Result:
    if query in _MOST:
        return Result(query, found["ours"], "ms", bar=_MOST[query])
    rivals = _rivals(found)
    best = min(rivals, key=lambda name: rivals[name])
    return Result(f"{query}, of {best}", found["ours"] / rivals[best], bar=1.0)


def _rivals(found: Mapping[str, float]) -> dict[str, float]:
    return {name: ms for name, ms in found.items() if name not in ("ours", "lean", FLOOR)}
