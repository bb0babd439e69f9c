"""A writer is killed at any point: the table is unchanged or changed, and PURGE cleans up."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.crash.writer import OPTIONS, expected, kind_of

import indextables
from indextables.commands.log_files import take_inventory
from indextables.commands.purge import run_purge
from indextables.commands.references import find_references
from indextables.log import open_log
from indextables.read.table import open_table
from indextables.runtime.steps import finish
from indextables.sql.local import LocalContext
from indextables.storage import open_store

ROOT = Path(__file__).parents[2]
# operations of a writer before it ends
AHEAD = 4


def spawn(path: str, first: int, step: int) -> subprocess.Popen[str]:
    arguments = [path, str(first), str(first + AHEAD - 1), str(step)]
    command = [sys.executable, "-W", "ignore", "-m", "tests.crash.writer", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def live_and_die(path: str, first: int, seed: int) -> int:
    """Run a writer until it is killed; return the last operation it reported as done."""
    chance = random.Random(seed)
    # three of four kill themselves at a step, the others are killed by this process
    writer = spawn(path, first, chance.randint(1, 40) if seed % 4 else 0)
    assert writer.stdout is not None
    if seed % 4 == 0:
        for _ in range(chance.randint(0, AHEAD - 1)):
            writer.stdout.readline()
        try:
            writer.wait(chance.random() * 0.05)
        except subprocess.TimeoutExpired:
            writer.send_signal(signal.SIGKILL)
    done = [int(line) for line in writer.stdout.read().split()]
    assert writer.wait() in (0, -signal.SIGKILL)
    return done[-1] if done else first - 1


def ids(path: str) -> list[int]:
    return sorted(indextables.open(path).scan(["id"])["id"].to_pylist())


def check_old_or_new(path: str, first: int, done: int) -> int:
    """Find the operation whose rows the table has: the last reported one, or a later one."""
    found = ids(path) if open_log(open_store(path)).exists() else []
    for number in range(max(done, first - 1), first + AHEAD):
        if found == expected(number):
            return number
    raise AssertionError(f"{len(found)} rows match no operation from {done} on")


def check_purge(path: str) -> None:
    """Run PURGE: it must keep what versions refer to, and nothing else."""
    before = ids(path)
    context = LocalContext(OPTIONS)
    table = open_table(path, context)
    table.log.clean()
    finish(run_purge(table, older_than_hours=0), context)
    left = take_inventory(table.log)
    kept = find_references(table.log, sorted(left.versions), sorted(left.bases))
    assert {file.path for file in left.data} <= kept
    assert ids(path) == before


def run(path: str, seeds: range) -> None:
    reached = -1
    for seed in seeds:
        done = live_and_die(path, reached + 1, seed)
        reached = check_old_or_new(path, reached + 1, done)
        if reached >= 0 and seed % 3 == 0:
            check_purge(path)
    check_purge(path)
    assert ids(path) == expected(reached)


def test_a_killed_writer_leaves_the_old_or_the_new_version(table_path):
    run(table_path, range(1, 5))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_killed_writers_leave_the_old_or_the_new_version(table_path):
    run(table_path, range(100, 150))


def test_the_operations_of_the_writers_differ():
    assert {kind_of(n) for n in range(40)} == {
        "append", "overwrite", "replace", "delete", "merge", "purge",
    }  # fmt: skip
