"""Writers of one table with a primary key, over a failing store: one live row per key, always.

Every version of the table is compared with the history: the intent of each commit, in order.
"""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pyarrow as pa
import pytest
from tests.log.simulation import (
    Actor,
    Crash,
    Faults,
    SimulatedClock,
    SimulatedStore,
    World,
    run_all,
)
from tests.upserts.model import Model
from tests.upserts.tables import ARROW, KeyTable, Row, values
from tests.upserts.test_upsert import draw_options

from indextables.commands.merge_splits import MergeRequest, run_merge
from indextables.commands.purge import run_purge
from indextables.commands.restore import run_restore
from indextables.commands.tasks import run_task
from indextables.config.settings import resolve
from indextables.errors import (
    CommitUnknownError,
    ConflictError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
)
from indextables.log import Log, Operation
from indextables.read.spec import DOC, SPLIT
from indextables.read.table import OpenTable
from indextables.runtime.steps import finish
from indextables.sql.local import LocalContext
from indextables.storage import ObjectMeta

# the world runs one thread at a time
ONE_BY_ONE = {"transaction.maxConcurrentReads": "1", "state.read.parallelism": "1"}
RETRIES = {"transaction.retry.maxAttempts": "20", "state.retry.maxAttempts": "2"}


class Disk(World):
    """A world whose index files are also in a real folder, next to the engine's splits."""

    folder: Path

    def write(self, path: str, data: bytes, if_absent: bool) -> bool:
        done = super().write(path, data, if_absent)
        if done and path.startswith("index/"):
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return done


class KeyStore(SimulatedStore):
    """A store whose log fails in every way, while files of tasks always exist."""

    def native(self) -> tuple[str, str]:
        return str(self._world.folder), "{}"

    def find(self, path: str) -> bytes | None:
        found = super().find(path)
        file = self._world.folder / path
        if found is None and path.startswith("index/") and file.is_file():
            return file.read_bytes()
        return found

    def head(self, path: str) -> ObjectMeta | None:
        file = self._world.folder / path
        found = super().head(path)
        return ObjectMeta(path, file.stat().st_size, 0) if not found and file.is_file() else found

    def get_ranges(self, path, ranges):
        data = self.get(path)
        return [data[start:end] for start, end in ranges]

    def list(self, prefix, start_after=None):
        if prefix:
            yield from super().list(prefix, start_after)
            return
        self._step()
        for path, (data, written) in sorted(self._world.disk.items()):
            yield ObjectMeta(path, len(data), written)

    def delete(self, paths) -> None:
        paths = list(paths)
        super().delete([path for path in paths if path in self._world.disk])
        for path in paths:
            (self._world.folder / path).unlink(missing_ok=True)


class NotedLog(Log):
    """A log whose commits record their intent."""

    meant: dict | None = None
    commits: list[str]

    def commit(self, transaction):
        meant = {} if self.meant is None else {"meant": self.meant}
        transaction = dataclasses.replace(
            transaction, parameters={**transaction.parameters, **meant}
        )
        self.commits.append(transaction.id)
        return super().commit(transaction)


class Writer:
    """One process: changes the table at random and records the outcomes it sees."""

    def __init__(self, number, world, options, partitions, record) -> None:
        self.number, self.world, self.record = number, world, record
        self.options, self.partitions = options, partitions
        self.made = 0

    def __call__(self, actor: Actor) -> None:
        store = KeyStore(self.world, actor.step_aside)
        clock = SimulatedClock(self.world, actor.step_aside)
        self.log = NotedLog(store, resolve(RETRIES), clock)
        self.log.commits = []
        self.table = KeyTable(self.log, self.options, self.partitions)
        for _ in range(3):
            self.once()

    def once(self) -> None:
        act = self.world.rng.choice(
            [
                self.upsert,
                self.upsert,
                self.upsert,
                self.delete,
                self.update,
                self.merge,
                self.restore,
                self.purge,
            ]
        )
        self.log.meant = None
        before = len(self.log.commits)
        try:
            act()
            answer = "yes"
        except (TableNotFoundError, TableExistsError):
            return
        except (ConflictError, StorageError):
            answer = "no"
        except CommitUnknownError:
            answer = "unknown"
        except Crash:
            self.note(before, "unknown")
            raise
        self.note(before, answer)

    def note(self, before: int, answer: str) -> None:
        if self.log.meant is not None and len(self.log.commits) > before:
            self.record.append((self.log.commits[before], answer))

    def rows(self) -> list[Row]:
        rng = self.world.rng
        self.made += 1
        token = f"{self.number}.{self.made}"
        return [
            (
                rng.randrange(2),
                rng.randrange(5),
                f"{token}.{i}",
                rng.choice([f"{token}/{i}", None]),
                rng.choice([None, 1, 2, 3]),
                rng.choice(["+I", "+U", "+I", "-D"]),
            )
            for i in range(rng.randrange(1, 5))
        ]

    def upsert(self) -> None:
        tasks = [self.rows() for _ in range(self.world.rng.randrange(1, 3))]
        overwrite = self.world.rng.random() < 0.1
        self.log.meant = {"kind": "upsert", "tasks": tasks, "overwrite": overwrite}
        self.table.upsert(*tasks, overwrite="all" if overwrite else "none")

    def chosen(self):
        here = self.log.snapshot()
        found = self.table.read(here, [SPLIT, DOC])
        count = min(found.num_rows, self.world.rng.randrange(1, 3))
        positions = self.world.rng.sample(range(found.num_rows), count)
        return here, found.take(pa.array(positions, pa.int64()))

    def delete(self) -> None:
        here, rows = self.chosen()
        if rows.num_rows:
            self.log.meant = {"kind": "delete", "rows": values(rows.select(ARROW.names))}
            self.table.change(Operation.DELETE, here, rows)

    def update(self) -> None:
        here, rows = self.chosen()
        if rows.num_rows:
            self.made += 1
            old = values(rows.select(ARROW.names))
            new = [
                (*r[:2], f"{self.number}.{self.made}.{i}", *r[3:5], "+U") for i, r in enumerate(old)
            ]
            self.log.meant = {"kind": "update", "old": old, "new": new}
            self.table.change(Operation.UPDATE, here, rows, new)

    def opened(self) -> OpenTable:
        here = self.log.snapshot()
        return OpenTable(self.log, here, self.table.spec(here).settings)

    def restore(self) -> None:
        table = self.opened()
        back = self.world.rng.randrange(table.snapshot.version + 1)
        self.log.meant = {"kind": "restore", "version": back}
        run_restore(table, back)

    def merge(self) -> None:
        finish(run_merge(self.opened, MergeRequest()), self)

    def purge(self) -> None:
        self.log.checkpoint()
        finish(run_purge(self.opened(), older_than_hours=1), self)

    def tasks(self, kind, payloads, places=()):
        return [run_task(kind, payload) for payload in payloads]


def replayed(options, before: list[dict[Row, Row]], meant: dict, anew: set[Row]) -> dict[Row, Row]:
    """Replay the history in the simplest way. Rows with the keys `anew` were replaced meanwhile."""
    if meant["kind"] == "restore":
        return before[meant["version"]]
    model = Model(options, dict(before[-1]))
    if meant["kind"] == "upsert":
        tasks = [[tuple(row) for row in task] for task in meant["tasks"]]
        model.upsert(tasks, meant["overwrite"])
    elif meant["kind"] == "delete":
        # a row that has been replaced is a different row
        gone = {tuple(row) for row in meant["rows"]}
        model.rows = {key: row for key, row in model.rows.items() if row not in gone or key in anew}
    else:
        for old, new in zip(meant["old"], meant["new"], strict=True):
            assert model.rows[model.key(tuple(old))] == tuple(old), "an update lost a change"
            model.rows[model.key(tuple(old))] = tuple(new)
    return model.rows


def simulate(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    world = Disk(rng, Faults.drawn(rng))
    world.folder = folder
    options, partitions = draw_options(rng)
    options |= {"purge.retentionCheckEnabled": "false", **ONE_BY_ONE}
    record: list[tuple[str, str]] = []
    writers = [Writer(n, world, options, partitions, record) for n in range(rng.randrange(2, 5))]
    run_all(world, writers)
    world.calm = True
    check(world, options, partitions, record)


def check(world, options, partitions, record) -> None:
    clock = SimulatedClock(world, lambda: None)
    log = Log(KeyStore(world, lambda: None), resolve(RETRIES), clock)
    table = KeyTable(log, options, partitions)
    if not log.exists():
        return
    newest = log.snapshot()
    rows: dict[Row, Row] = {}
    history: list[dict[Row, Row]] = []
    seen: list[str] = []
    written: list[set[Row]] = []
    for version in range(newest.version + 1):
        info = log.reader.commit(version).info
        seen.append(info.id)
        meant = info.parameters.get("meant", {})
        tasks = meant.get("tasks", ())
        written.append({Model(options).key(tuple(row)) for task in tasks for row in task})
        if meant:
            # partial updates replace a row even when they change nothing
            partial = options.get("merge-engine") == "partial-update"
            since = written[info.read_version + 1 : version] if partial else []
            rows = replayed(options, history, meant, set().union(*since))
        history.append(rows)
        here = log.snapshot(version)
        assert table.rows(here) == sorted(rows.values(), key=str), f"version {version}"
        table.check_index(here)
    assert len(seen) == len(set(seen)), "a commit occurs twice"
    for identity, answer in record:
        if answer != "unknown":
            assert (identity in seen) == (answer == "yes"), f"{identity}: recorded {answer}"
    # exactly the files without references are purged
    world.now += 48 * 3_600_000
    opened = OpenTable(log, newest, table.spec(newest).settings)
    finish(run_purge(opened, older_than_hours=1), LocalContext())
    assert table.rows(log.snapshot()) == sorted(rows.values(), key=str)
    table.check_index(log.snapshot())


@pytest.mark.parametrize("block", range(2))
def test_a_key_has_one_row_when_many_write_and_everything_fails(block, tmp_path):
    for seed in range(block * 10, block * 10 + 10):
        simulate(seed, tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_a_key_has_one_row_when_many_write_for_long(block, tmp_path):
    for seed in range(1000 + block * 50, 1050 + block * 50):
        simulate(seed, tmp_path / str(seed))
