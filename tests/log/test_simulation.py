"""Writers over a failing store: no acknowledged commit is lost, and none is doubled."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import zlib

import pytest
from tests.log import changes as change
from tests.log.simulation import (
    Actor,
    Crash,
    Faults,
    SimulatedClock,
    SimulatedStore,
    World,
    run_all,
)
from tests.log.tables import SCHEMA

from indextables.config.settings import resolve
from indextables.errors import (
    CommitUnknownError,
    ConflictError,
    CorruptError,
    InvalidError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
)
from indextables.log import AddFile, Committed, DeletionVector, Log, Operation, Txn, names
from indextables.log.conflicts import conflict
from indextables.log.entries import to_adds
from indextables.log.retention import Policy

EMPTY = "index/none"


class Writer:
    """One process: changes the table at random and records the outcomes it sees."""

    def __init__(self, number, world, options, record, cleans) -> None:
        self.number, self.world, self.record, self.cleans = number, world, record, cleans
        self.settings = resolve(options)
        self.made = 0

    def __call__(self, actor: Actor) -> None:
        store = SimulatedStore(self.world, actor.step_aside)
        self.log = Log(store, self.settings, SimulatedClock(self.world, actor.step_aside))
        for _ in range(3):
            self.once()

    def once(self) -> None:
        rng = self.world.rng
        if rng.random() < 0.05:
            self.log.invalidate()
        act = rng.choice(
            [
                self.append,
                self.append,
                self.append_together,
                self.delete,
                self.merge,
                self.overwrite,
                self.stream,
                self.drop,
                self.restore,
                self.maintain,
                self.read,
            ]
        )
        try:
            act(self.log.snapshot())
        except TableNotFoundError:
            self.create()
        except StorageError:
            pass  # reading failed: no commit was attempted
        except InvalidError:
            # RESTORE of a version that retention has removed
            if not self.cleans:
                raise

    def create(self) -> None:
        with contextlib.suppress(TableExistsError, CommitUnknownError, StorageError):
            self.log.create(SCHEMA)

    def rows(self, count=2) -> list[str]:
        self.made += 1
        return [f"w{self.number}r{self.made}x{i}" for i in range(count)]

    def file(self, rows) -> AddFile:
        self.made += 1
        path = f"splits/w{self.number}f{self.made}.split"
        return AddFile(path, {}, 10, 1, num_records=len(rows), extra={"rows": sorted(rows)})

    def commit(self, transaction, **intention) -> None:
        transaction = dataclasses.replace(transaction, parameters=intention)
        try:
            done = self.log.commit(transaction)
        except (ConflictError, StorageError):
            self.record.append((transaction.id, "no"))
        except CommitUnknownError:
            self.record.append((transaction.id, "unknown"))
        except Crash:
            self.record.append((transaction.id, "unknown"))
            raise
        else:
            self.record.append((transaction.id, "skipped" if done.skipped else "yes"))

    def append(self, here) -> None:
        rows = self.rows()
        self.commit(change.append(here, [self.file(rows)]), adds=rows)

    def append_together(self, here) -> None:
        """Commit from several threads of one process; one of the commits may conflict."""
        made = []
        for _ in range(self.world.rng.randrange(2, 4)):
            rows = self.rows()
            given = change.append(here, [self.file(rows)], shares=True)
            made.append(dataclasses.replace(given, parameters={"adds": rows}))
        if self.world.rng.random() < 0.3:
            made[0] = dataclasses.replace(made[0], rebuild=refused)
        try:
            outcomes = self.log.commit_together(made)
        except Crash:
            self.record.extend((each.id, "unknown") for each in made)
            raise
        for each, outcome in zip(made, outcomes, strict=True):
            if isinstance(outcome, CommitUnknownError):
                self.record.append((each.id, "unknown"))
            elif isinstance(outcome, Committed):
                self.record.append((each.id, "yes"))
            else:
                # retention may have removed the version that was read
                known = ConflictError | StorageError
                assert isinstance(outcome, known | InvalidError if self.cleans else known)
                self.record.append((each.id, "no"))

    def stream(self, here) -> None:
        rows = [f"batch{self.world.rng.randrange(3)}"]
        batch = int(rows[0][-1])
        self.commit(change.append(here, [self.file(rows)], txn=Txn("app", batch)), adds=rows)

    def delete(self, here) -> None:
        files = to_adds(here.files())
        if not files:
            return
        target = self.world.rng.choice(files)
        left = sorted(set(target.extra["rows"]) - deleted(target))
        gone = self.world.rng.sample(left, min(1, len(left)))
        every = sorted(deleted(target) | set(gone))
        vector = DeletionVector("index/" + (",".join(every) or "none"), 1, 10, len(every))
        vectors = {target.path: vector}
        self.commit(change.change_rows(Operation.DELETE, here, vectors), deletes=gone)

    def merge(self, here) -> None:
        files = to_adds(here.files())
        if len(files) < 2:
            return
        sources = self.world.rng.sample(files, 2)
        rows = [r for f in sources for r in f.extra["rows"] if r not in deleted(f)]
        merged = self.file(rows)
        self.commit(change.merge_splits(here, [f.path for f in sources], [merged]))

    def overwrite(self, here) -> None:
        rows = self.rows()
        self.commit(change.overwrite(here, [self.file(rows)]), adds=rows, clears=True)

    def drop(self, here) -> None:
        self.commit(change.drop_matching(here, lambda now: now.files().slice(0, 0)))

    def restore(self, here) -> None:
        back = self.world.rng.randrange(here.version + 1)
        target = self.log.snapshot(back)
        target.files()
        self.commit(change.restore(here, target), restores=back)

    def maintain(self, here) -> None:
        try:
            self.log.checkpoint(compact=self.world.rng.choice([None, "test"]))
            if self.cleans and self.world.rng.random() < 0.5:
                self.log.clean(Policy(0.0002, 0.0002, 1, 0.0005))
        except (ConflictError, CommitUnknownError, StorageError, CorruptError):
            pass

    def read(self, here) -> None:
        here.files()


def refused(now):
    raise conflict(Operation.APPEND, None, now.version, "this append conflicts")


def deleted(file: AddFile) -> set[str]:
    vector = file.deletion_vector
    if vector is None or vector.file == EMPTY:
        return set()
    return set(vector.file.removeprefix("index/").split(","))


class Oracle:
    """The table's history, read from version files in the simplest possible way."""

    def __init__(self, disk) -> None:
        self.commits: dict[int, list[dict]] = {}
        for path, (data, _) in disk.items():
            name = path.removeprefix(names.FOLDER + "/")
            if len(name) == 25 and name.endswith(".json"):
                text = zlib.decompress(data, wbits=31).decode()
                self.commits[int(name[:20])] = [json.loads(line) for line in text.splitlines()]

    def infos(self) -> list[dict]:
        return [
            info
            for version in sorted(self.commits)
            for action in self.commits[version]
            if "commitInfo" in action
            for info in changes_of(action["commitInfo"])
        ]

    def check_whole(self) -> None:
        """Check at every version that replayed splits have the rows that the commits intended."""
        live: dict[str, dict] = {}
        meant: set[str] = set()
        self.files: list[dict[str, str | None]] = []
        rows_at: list[set[str]] = []
        assert sorted(self.commits) == list(range(len(self.commits)))
        for version in range(len(self.commits)):
            for action in self.commits[version]:
                if "remove" in action:
                    assert action["remove"]["path"] in live, "removed a split that was not live"
                    del live[action["remove"]["path"]]
                elif "add" in action:
                    assert action["add"]["path"] not in live, "added a split that was live"
                    live[action["add"]["path"]] = action["add"]
                elif "commitInfo" in action:
                    for info in changes_of(action["commitInfo"]):
                        meant = intended(meant, info["operationParameters"], rows_at)
            rows = [r for add in live.values() for r in live_rows(add)]
            assert sorted(rows) == sorted(meant), f"version {version}"
            rows_at.append(set(meant))
            self.files.append(
                {p: (a.get("deletionVector") or {}).get("file") for p, a in live.items()}
            )


def changes_of(info: dict) -> list[dict]:
    """The appends that share a version, or its only change."""
    return info.get("appends", [info])


def intended(rows: set[str], parameters: dict, before: list[set[str]]) -> set[str]:
    if "restores" in parameters:
        return set(before[parameters["restores"]])
    kept = set() if parameters.get("clears") else rows - set(parameters.get("deletes", ()))
    return kept | set(parameters.get("adds", ()))


def live_rows(add: dict) -> list[str]:
    vector = (add.get("deletionVector") or {}).get("file", EMPTY)
    gone = set(vector.removeprefix("index/").split(","))
    return [row for row in add["rows"] if row not in gone]


def simulate(seed: int, clean: bool) -> World:
    rng = random.Random(seed)
    world = World(rng, Faults.drawn(rng))
    options = {
        "checkpoint.interval": str(rng.choice([1, 2, 5])),
        "state.compaction.maxManifests": str(rng.choice([2, 20])),
        "state.compaction.tombstoneThreshold": str(rng.choice([0.0, 0.1, 0.9])),
        "purge.txLogRetentionHours": "0.001" if clean else "720",
        "state.retention.hours": "0.001" if clean else "168",
        "state.gc.minManifestAgeHours": "0.01",
        "transaction.retry.maxAttempts": str(rng.choice([2, 10])),
        "state.retry.maxAttempts": "2",
    }
    record: list[tuple[str, str]] = []
    count = rng.randrange(2, 5)
    writers = [Writer(number, world, options, record, clean) for number in range(count)]
    run_all(world, writers)
    world.calm = True
    check(world, record, options, clean)
    return world


def check(world, record, options, clean) -> None:
    oracle = Oracle(world.disk)
    log = Log(
        SimulatedStore(world, lambda: None), resolve(options), SimulatedClock(world, lambda: None)
    )
    if not oracle.commits:
        return
    if not clean:
        ids = [info["id"] for info in oracle.infos()]
        assert len(ids) == len(set(ids)), "a commit occurs twice"
        for identity, answer in record:
            if answer == "yes":
                assert identity in ids, "an acknowledged commit is lost"
            elif answer in ("no", "skipped"):
                assert identity not in ids, "a refused commit was applied"
        oracle.check_whole()
        for version, files in enumerate(oracle.files):
            assert seen(log, version) == files, f"version {version}"
    listing = log.reader.listing()
    newest = log.snapshot()
    assert newest.version == listing.latest
    assert listing.readable[-1].stop == listing.latest + 1
    for run in listing.readable:
        for version in run:
            seen(log, version)
    rows = [r for f in to_adds(newest.files()) for r in f.extra["rows"] if r not in deleted(f)]
    assert len(rows) == len(set(rows)), "a row occurs twice"


def seen(log, version) -> dict[str, str | None]:
    files = to_adds(log.snapshot(version).files())
    assert len({f.path for f in files}) == len(files)
    return {f.path: f.deletion_vector.file if f.deletion_vector else None for f in files}


@pytest.mark.parametrize("block", range(10))
def test_every_version_is_right_when_everything_fails(block):
    for seed in range(block * 30, block * 30 + 30):
        simulate(seed, clean=False)


@pytest.mark.parametrize("block", range(4))
def test_every_kept_version_is_readable_when_retention_cleans(block):
    for seed in range(block * 25, block * 25 + 25):
        simulate(seed, clean=True)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_every_version_is_right_when_everything_fails_for_long(block):
    for seed in range(1000 + block * 100, 1100 + block * 100):
        simulate(seed, clean=bool(block % 4 == 0))
