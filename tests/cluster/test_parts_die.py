"""Parts of a cluster are killed while it works, at seeded times.

Whatever dies, answers are right, a change is applied once or not at all, nothing hangs, and PURGE
finds the leftovers. Only a change whose planner dies may fail, with an error that says so.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.cluster import work
from tests.cluster.driver import Driver, driver
from tests.cluster.killing import VICTIMS, killed
from tests.cluster.standalone import Cluster
from tests.crash.test_kill import check_purge
from tests.processes import below

pytestmark = pytest.mark.spark
# longer than any statement takes on a busy machine; anything slower hangs
PATIENCE_S = 240
# kills happen within the usual time of a statement
SOON_S = 3.0
# a DELETE without its executor, a MERGE INTO without its planner
SEEDS = (15, 3)
# in blocks, each with its own tables
MORE_SEEDS = [range(first, first + 10) for first in range(100, 200, 10)]
# the errors a change may raise when its planner was killed
HONEST = re.compile(r"\[(COMMIT_UNKNOWN|PLANNER_LOST)\]")
TRIES = {
    "spark.task.maxFailures": "8",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "200ms",
    # a killed worker must not exclude its host
    "spark.excludeOnFailure.enabled": "false",
    "spark.indextables.checkpoint.interval": "4",
    # tasks read even small tables
    "spark.indextables.read.local.enabled": "false",
    "spark.indextables.purge.retentionCheckEnabled": "false",
}


@pytest.fixture(scope="module")
def application(cluster, tmp_path_factory):
    """An application that retries and speculates tasks."""
    with driver(cluster.url, tmp_path_factory.mktemp("application"), TRIES) as found:
        yield found


@dataclass
class Story:
    """The tables of an application and their expected rows."""

    cluster: Cluster
    application: Driver
    folder: Path
    ids: set[int] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)
    next_id: int = 0

    def run(self, call: Callable[..., Any], *args: Any) -> Any:
        return self.application.run(call, *args)

    def attempt(self, victim: str, chance: random.Random, *call: Any) -> tuple[Any, str]:
        """Run a function of `work` while `victim` is killed; return what it returns or raises."""
        with killed(self.cluster, self.application, victim, chance, SOON_S):
            running = self.application.start(work.attempt, *call)
            return running.result(timeout=PATIENCE_S)

    @property
    def table(self) -> str:
        return str(self.folder / "table")

    @property
    def keyed(self) -> str:
        return str(self.folder / "keyed")

    @property
    def copy(self) -> str:
        return str(self.folder / "copy")


@dataclass(frozen=True)
class Verb:
    """A function of `work` and its arguments, and the rows of its table afterwards."""

    call: tuple[object, ...]
    path: str
    after: frozenset[int]
    # a row change is one commit; a merge may have nothing to do
    commits: tuple[int, ...] = (1,)


def append(story: Story, chance: random.Random) -> Verb:
    first, story.next_id = story.next_id, story.next_id + 60
    after = story.ids | set(range(first, first + 60))
    return Verb(("save", story.table, first, first + 60), story.table, frozenset(after))


def delete(story: Story, chance: random.Random) -> Verb:
    rest = chance.randrange(7)
    text = f"DELETE FROM indextables.`{story.table}` WHERE pmod(id, 7) = {rest}"
    after = {i for i in story.ids if i % 7 != rest}
    return Verb(("statement", text), story.table, frozenset(after), (0, 1))


def update(story: Story, chance: random.Random) -> Verb:
    rest, add = chance.randrange(7), 1_000_000 * chance.randint(1, 9)
    chosen = f"pmod(id, 7) = {rest} AND id < 1000000"
    text = f"UPDATE indextables.`{story.table}` SET id = id + {add} WHERE {chosen}"
    after = {i + add if i % 7 == rest and i < 1_000_000 else i for i in story.ids}
    return Verb(("statement", text), story.table, frozenset(after), (0, 1))


def merge_into(story: Story, chance: random.Random) -> Verb:
    first, story.next_id = story.next_id, story.next_id + 60
    low = max(0, first - 30)
    text = f"""MERGE INTO indextables.`{story.table}` t
        USING (SELECT id FROM range({low}, {first + 30})) s ON t.id = s.id
        WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"""
    source = set(range(low, first + 30))
    return Verb(("statement", text), story.table, frozenset(story.ids ^ source))


def merge_splits(story: Story, chance: random.Random) -> Verb:
    text = f"MERGE SPLITS '{story.table}'"
    # the merge, and its checkpoint
    return Verb(("statement", text), story.table, frozenset(story.ids), (0, 1, 2))


def purge(story: Story, chance: random.Random) -> Verb:
    text = f"PURGE INDEXTABLE '{story.table}' OLDER THAN 0 HOURS"
    return Verb(("statement", text), story.table, frozenset(story.ids), (0,))


def upsert(story: Story, chance: random.Random) -> Verb:
    first = chance.randrange(200)
    after = story.keys | set(range(first, first + 80))
    return Verb(("upsert", story.keyed, first, first + 80), story.keyed, frozenset(after))


# seven verbs and five victims: 35 consecutive seeds cover every pair
CHANGES = (append, delete, update, merge_into, merge_splits, purge, upsert)


def tell(story: Story, seed: int) -> None:
    """Run one change and one read, with a kill during each."""
    chance = random.Random(seed)
    victims = [*VICTIMS]
    verb = CHANGES[seed % len(CHANGES)](story, chance)
    change(story, verb, victims[seed % len(victims)], chance)
    read(story, chance.choice(victims), chance)


def change(story: Story, verb: Verb, victim: str, chance: random.Random) -> None:
    before = frozenset(story.keys if verb.path == story.keyed else story.ids)
    known = story.run(work.versions, verb.path)
    _, problem = story.attempt(victim, chance, *verb.call)
    found = story.run(work.ids, verb.path)
    assert len(found) == len(set(found)), f"{verb.call} doubled rows when {victim} was killed"
    if problem:
        assert victim.startswith("planner"), f"{verb.call}, {victim}: {problem}"
        assert HONEST.search(problem.splitlines()[0]), f"{verb.call}, {victim}: {problem}"
        assert set(found) in (before, verb.after)
    else:
        assert set(found) == verb.after, f"{verb.call}, {victim}"
        assert story.run(work.versions, verb.path) - known in verb.commits, f"{verb.call}, {victim}"
    if verb.path == story.keyed:
        story.keys = set(found)
    else:
        story.ids = set(found)


def read(story: Story, victim: str, chance: random.Random) -> None:
    what, expected = chance.choice(
        [("ids", sorted(story.ids)), ("totals", [len(story.ids), sum(story.ids)])]
    )
    found, problem = story.attempt(victim, chance, what, story.table)
    assert problem == "", f"{what} when {victim} was killed: {problem}"
    assert found == expected, f"{what} when {victim} was killed"


@pytest.fixture
def story(cluster, application, tmp_path) -> Story:
    made = Story(cluster, application, tmp_path)
    application.run(work.save, made.table, 0, 60)
    application.run(work.upsert, made.keyed, 0, 60)
    made.ids, made.keys, made.next_id = set(range(60)), set(range(60)), 60
    return made


def run(story: Story, seeds: Iterable[int]) -> None:
    for seed in seeds:
        tell(story, seed)
    for path in (story.table, story.keyed):
        check_purge(path)
    assert story.run(work.ids, story.table) == sorted(story.ids)
    assert story.run(work.ids, story.keyed) == sorted(story.keys)


def test_nothing_is_lost_doubled_or_left_when_parts_are_killed(story):
    run(story, SEEDS)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seeds", MORE_SEEDS, ids=str)
def test_nothing_is_lost_doubled_or_left_in_a_hundred_kills(story, seeds):
    run(story, seeds)


@pytest.mark.slow
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_stream_brings_every_row_once(story, victim):
    chance = random.Random(victim)
    checkpoint = str(story.folder / "checkpoint")
    for _ in range(2):
        call = ("follow", story.table, story.copy, checkpoint)
        _, problem = story.attempt(victim, chance, *call)
        if problem:  # a failed stream is restarted
            assert victim.startswith("planner"), problem
            story.run(work.follow, *call[1:])
        assert story.run(work.ids, story.copy) == sorted(story.ids)
        story.run(work.save, story.table, story.next_id, story.next_id + 60)
        story.ids |= set(range(story.next_id, story.next_id + 60))
        story.next_id += 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_killed_driver_leaves_the_old_or_the_new_version(story, seed):
    known = story.run(work.versions, story.table)
    with driver(story.cluster.url, story.folder / "other", {"spark.cores.max": "2"}) as other:
        other.start(work.save, story.table, 60, 120)
        time.sleep(random.Random(seed).uniform(0, 2 * SOON_S))
        for pid in (other.pid, *(process.pid for process in below(other.pid))):
            os.kill(pid, signal.SIGKILL)
    found = story.run(work.ids, story.table)
    added = story.run(work.versions, story.table) - known
    assert (len(found), added) in ((60, 0), (120, 1))
    assert found == list(range(len(found)))
    story.run(work.save, story.table, 500, 510)
    check_purge(story.table)
    assert story.run(work.ids, story.table) == [*found, *range(500, 510)]
