"""Generated histories, queried through Spark: by the planner process and by tasks on executors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.companions.index import Index
from tests.companions.questions import draw, message_column
from tests.companions.test_histories import HISTORIES, tend
from tests.oracle.paths import PATHS

SEEDS, STEPS, QUERIES = range(2), 3, 2


@pytest.mark.spark
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", HISTORIES)
def test_both_ways_of_reading_answer_as_the_source(
    spark: Any, kind: str, seed: int, tmp_path: Path
):
    ask_history(spark, kind, f"spark {kind} {seed}", tmp_path, STEPS)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("kind", HISTORIES)
def test_both_ways_of_reading_answer_as_the_source_in_many_histories(
    spark: Any, kind: str, tmp_path: Path
):
    for seed in random.sample(range(10**9), 12):
        ask_history(spark, kind, f"spark {kind} {seed}", tmp_path / str(seed), 6)


def ask_history(spark: Any, kind: str, seed: str, folder: Path, steps: int) -> None:
    """Change source and index in turn; query in both ways after every step."""
    folder.mkdir(exist_ok=True)
    rng = random.Random(seed)
    history = HISTORIES[kind](folder, rng)
    index = Index(folder, history, "INDEXING MODES ('message':'text')")
    index.build()
    index.clauses = ""
    done: list[str] = []
    for _ in range(steps):
        done.append(history.change())
        if rng.random() < 0.6:
            done.append(tend(index, rng))
        _, rows = history.now()
        for path, options in PATHS.items():
            frame = spark.read.format("indextables").options(**options).load(index.location)
            frame.createOrReplaceTempView("companion_index")
            for _ in range(QUERIES):
                case = draw(rng, history.maker.made, message_column(frame.columns))
                statement = case.sql(frame.columns).format(t="companion_index")
                found = [row.asDict() for row in spark.sql(statement).collect()]
                expected = case.truth(rows)
                assert case.answer(found) == expected, f"{seed} {path}: {done} {statement}"
