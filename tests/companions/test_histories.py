"""Generated histories: after any changes of source and index, answers are those of the source."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.companions.index import INDEXED, Index
from tests.companions.parquet_source import ParquetHistory
from tests.companions.rows import Row
from tests.companions.sources import DeltaHistory, IcebergHistory, VectorHistory

HISTORIES = {
    "delta": DeltaHistory,
    "vectors": VectorHistory,
    "iceberg": IcebergHistory,
    "parquet": ParquetHistory,
}
FAST = range(int(os.environ.get("COMPANION_HISTORIES", "8")))
STEPS, QUERIES = 7, 3
# with the second clause, every file gets its own split
SIZES = ("", "TARGET INPUT SIZE 1000")


@pytest.mark.parametrize("seed", FAST)
@pytest.mark.parametrize("kind", HISTORIES)
def test_answers_are_those_of_the_source(kind: str, seed: int, tmp_path: Path):
    run_history(kind, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("kind", HISTORIES)
def test_answers_are_those_of_the_source_in_many_histories(kind: str, block: int, tmp_path: Path):
    first = random.randrange(10**9)  # new histories in every run; the failure shows the seed
    for seed in range(first, first + 15):
        run_history(kind, seed, tmp_path / str(seed))


def run_history(kind: str, seed: int, folder: Path) -> None:
    """Change source and index in turn, and query after every step."""
    folder.mkdir(exist_ok=True)
    rng = random.Random(f"{kind} {seed}")
    history = HISTORIES[kind](folder, rng)
    modes = "INDEXING MODES ('message':'text')"
    index = Index(folder, history, f"{modes} {rng.choice(SIZES)}")
    index.build()
    index.clauses = index.clauses.removeprefix(modes)
    done: list[str] = []
    try:
        for _ in range(STEPS):
            done.append(history.change())
            if rng.random() < 0.6:
                done.append(tend(index, rng))
            ask(index, rng)
    except Exception as failure:
        failure.add_note(f"{kind} {seed}: {', '.join(done)}")
        raise
    index.build()
    for _ in range(QUERIES):
        index.check(rng, history.now()[1], **INDEXED)
    assert index.build()["status"] == "no_action"


def ask(index: Index, rng: random.Random) -> None:
    """Query the newest version, an older one, and the indexed one."""
    history = index.history
    _, rows = history.now()
    for _ in range(QUERIES):
        index.check(rng, rows)
    past = list(history.past().items())
    if past:
        version, before = rng.choice(past)
        index.check_or_lost(rng, [before], sourceVersionAsOf=version)
    expected: list[list[Row] | None] = index.complete.get(index.version(), [])
    if expected:
        index.check_or_lost(rng, expected, **INDEXED)


def tend(index: Index, rng: random.Random) -> str:
    """Apply a random operation to the index."""
    kind = rng.choice(["build", "build", "kill", "kill", "kill", "merge", "purge", "drop", "back"])
    before = index.complete.get(index.version())
    if kind == "build":
        index.build()
    elif kind == "kill":
        step, arrived = rng.randint(0, 5), rng.random() < 0.5
        return f"kill {step} {arrived} {index.build_killed(step, before=not arrived)}"
    elif kind == "merge":
        index.run(f"MERGE SPLITS '{index.location}'")
        if before is not None:
            index.complete[index.version()] = before
    elif kind == "purge":
        index.run(f"PURGE INDEXTABLE '{index.location}' OLDER THAN 24 HOURS")
    elif kind == "drop":
        index.drop_partition()
    else:
        chosen = rng.choice(sorted(index.complete))
        index.run(f"RESTORE INDEXTABLES '{index.location}' TO VERSION AS OF {chosen}")
        index.complete[index.version()] = index.complete[chosen]
    return kind
