"""Appends of several threads share a version, and each gets its own outcome."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.log.tables import SCHEMA, add

import indextables
from indextables.config.settings import Settings
from indextables.errors import CommitUnknownError, ConflictError, StorageError
from indextables.log import Committed, Operation, Transaction, codec, names, open_log
from indextables.log.conflicts import conflict
from indextables.log.open_logs import log_at
from indextables.log.sharing import CommitQueue
from indextables.storage import open_store


@pytest.fixture
def log(tmp_path):
    log = open_log(open_store(str(tmp_path / "t")), Settings())
    log.create(SCHEMA)
    return log


def append(log, name, **more):
    metrics = {"rows": 2, "splits": 1}
    return Transaction(
        Operation.APPEND, log.snapshot().version, (add(name),), metrics=metrics, **more
    )


def paths(snapshot):
    return sorted(snapshot.files()["path"].to_pylist())


def refuse(newest):
    raise conflict(Operation.APPEND, None, newest.version, "the schema has changed")


def evolve(newest):
    described = replace(newest.metadata, description="of its own version")
    return (described, add("c"))


def test_appends_are_listed_in_the_version_that_they_share(log):
    given = [append(log, name) for name in "abc"]
    done = log.commit_together(given)
    assert [each.version for each in done] == [1, 1, 1]
    assert len(paths(log.snapshot())) == 3
    data = log.store.get(names.version_file(1))
    info = codec.decode_actions(data, "f")[0]
    assert (info.operation, info.metrics) == ("APPEND", {"rows": 6, "splits": 3})
    assert [each["id"] for each in info.extra["appends"]] == [each.id for each in given]
    assert {each["readVersion"] for each in info.extra["appends"]} == {0}
    assert next(log.history()).metrics == {"rows": 6, "splits": 3}


def test_a_conflict_of_one_append_does_not_fail_the_others(log):
    given = [append(log, "a"), append(log, "b", rebuild=refuse), append(log, "c")]
    first, second, third = log.commit_together(given)
    assert isinstance(second, ConflictError)
    assert (first.version, third.version) == (1, 2)
    assert paths(log.snapshot()) == ["splits/a.split", "splits/c.split"]


def test_an_append_that_changes_the_table_has_a_version_of_its_own(log):
    given = [append(log, "a"), append(log, "b"), append(log, "c", rebuild=evolve)]
    assert [each.version for each in log.commit_together(given)] == [1, 2, 3]
    assert log.snapshot().metadata.description == "of its own version"


def test_appends_with_other_user_metadata_have_versions_of_their_own(log):
    noted = [append(log, "a"), append(log, "b", user_metadata="x"), append(log, "c")]
    assert [each.version for each in log.commit_together(noted)] == [1, 2, 3]
    assert [entry.user_metadata for entry in log.history(3)] == [None, "x", None]


def test_a_schema_that_changed_since_one_of_them_read_fails_only_that_one(log):
    old = append(log, "old")
    widened = json.loads(log.snapshot().metadata.schema_string)
    widened["fields"] = widened["fields"][:2]
    text = json.dumps(widened)
    narrow = Transaction(
        Operation.CHANGE_METADATA,
        0,
        rebuild=lambda newest: (replace(newest.metadata, schema_string=text),),
    )
    log.commit(narrow)
    first, second = log.commit_together([old, append(log, "new")])
    assert isinstance(first, ConflictError)
    assert second.version == 2
    assert paths(log.snapshot()) == ["splits/new.split"]


def test_nothing_is_lost_or_doubled_when_threads_append(tmp_path):
    path, threads, times = str(tmp_path / "t"), 8, 6
    indextables.write(pa.table({"id": [-1]}), path)
    start = threading.Barrier(threads)

    def work(number):
        start.wait()
        found = []
        for turn in range(times):
            rows = pa.table({"id": [number * times + turn]})
            found.append(indextables.write(rows, path).version)
        return found

    with ThreadPoolExecutor(threads) as pool:
        versions = list(pool.map(work, range(threads)))
    table = indextables.open(path)
    assert sorted(table.scan()["id"].to_pylist()) == list(range(-1, threads * times))
    assert all(seen == sorted(seen) for seen in versions)
    assert table.version == max(seen[-1] for seen in versions)
    appends = [entry for entry in table.history() if entry["operation"] == "APPEND"]
    assert sum(entry["metrics"]["rows"] for entry in appends) == threads * times + 1


class Waiting:
    """A commit that waits for `go_on` and then returns the test's outcome for each append."""

    def __init__(self, outcome):
        self.outcome, self.calls = outcome, []
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, appends):
        self.calls.append([each.id for each in appends])
        self.begun.set()
        assert self.go_on.wait(60)
        return [self.outcome(each) for each in appends]


def queued(queue, count):
    """Run appends on several threads: the others wait while the first one is committed."""
    pool = ThreadPoolExecutor(count)
    given = [Transaction(Operation.APPEND, 0) for _ in range(count)]
    futures = [pool.submit(queue.commit, given[0])]
    assert queue._run.begun.wait(60)
    futures += [pool.submit(queue.commit, each) for each in given[1:]]
    waiting = threading.Event()
    while len(queue._waiting) < count - 1:
        waiting.wait(0.001)
    queue._run.go_on.set()
    pool.shutdown()
    return given, futures


def test_the_thread_whose_turn_it_is_commits_for_all_that_wait():
    run = Waiting(lambda append: Committed(1, append.id))
    given, futures = queued(CommitQueue("t", run), 5)
    assert [future.result().snapshot for future in futures] == [each.id for each in given]
    assert [len(call) for call in run.calls] == [1, 4]


def test_each_append_raises_its_own_failure():
    failures = {}

    def outcome(append):
        failures[append.id] = StorageError("STORAGE_FAILED", append.id)
        return failures[append.id]

    given, futures = queued(CommitQueue("t", Waiting(outcome)), 4)
    assert [future.exception() for future in futures] == [failures[each.id] for each in given]


def test_an_interrupt_of_one_thread_leaves_the_others_in_doubt():
    class Interrupt(BaseException):
        pass

    def outcome(_append):
        raise Interrupt

    _, futures = queued(CommitQueue("t", Waiting(outcome)), 3)
    kinds = [type(future.exception()) for future in futures]
    assert kinds[0] is Interrupt
    assert sorted(kind.__name__ for kind in kinds[1:]) == ["CommitUnknownError", "Interrupt"]
    failure = next(f.exception() for f in futures if f.exception().__class__ is CommitUnknownError)
    assert failure.context["path"] == "t"


def test_a_log_is_opened_once_for_the_same_settings(tmp_path):
    path = str(tmp_path / "t")
    settings = Settings()
    assert log_at(path, settings) is log_at(path, settings)
    other = Settings({"checkpoint.interval": 3})
    assert log_at(path, other) is not log_at(path, settings)


def test_a_table_that_is_dropped_and_written_again_is_read_anew(tmp_path):
    path = str(tmp_path / "t")
    indextables.write(pa.table({"id": [1, 2]}), path)
    indextables.write(pa.table({"id": [3]}), path)
    assert indextables.open(path).count() == 3
    shutil.rmtree(path)
    table = indextables.write(pa.table({"word": ["x"]}), path)
    assert table.scan().to_pylist() == [{"word": "x"}]
    assert indextables.open(path).version == table.version


def test_a_table_with_the_id_and_splits_of_the_one_before_it_is_read_anew(tmp_path):
    path = tmp_path / "t"
    rows = pa.table({"id": [1], "day": pa.array([5], pa.int32())})
    options = {"transaction.compression.enabled": "false"}
    indextables.write(rows, str(path), partition_by=["day"], options=options)
    assert indextables.open(str(path)).count("day = 5") == 1
    file = path / names.version_file(1)
    lines = file.read_text().splitlines()
    kept = [line for line in lines if not line.startswith('{"commitInfo"')]
    file.unlink()
    file.write_text("\n".join(kept).replace('{"day":"5"}', '{"day":"6"}'))
    assert indextables.open(str(path)).count("day = 5") == 0
    assert indextables.open(str(path)).count("day = 6") == 1
