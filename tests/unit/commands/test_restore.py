from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from indextables.commands.purge import run_purge
from indextables.commands.restore import run_restore
from indextables.errors import InvalidError, error
from indextables.log import Log
from indextables.log.actions import DeletionVector, RemoveFile
from indextables.log.reading import Reader
from indextables.runtime.steps import finish


@pytest.fixture
def table(make):
    made = make(())
    made.first = made.put("a", 10)
    made.commit(made.first)
    made.commit(RemoveFile(made.first.path), made.put("b", 20))
    return made


def test_older_version_becomes_the_newest(table):
    row = run_restore(table.open(), version=1)[0]
    assert table.paths() == [table.first.path]
    assert (row["restored_version"], row["new_version"]) == (1, 3)
    assert (row["num_restored_files"], row["num_removed_files"]) == (1, 1)
    assert (row["restored_size_bytes"], row["removed_size_bytes"]) == (10, 20)
    assert len(table.log.snapshot(2).files()) == 1


def test_deletions_are_undone(make):
    table = make(())
    add = table.put("a")
    table.commit(add)
    table.write("index/v", 5)
    vector = DeletionVector("index/v", 1, 2, 3)
    table.commit(RemoveFile(add.path), replace(add, deletion_vector=vector))
    run_restore(table.open(), version=1)
    assert table.log.snapshot().files()["deletionVector"].to_pylist() == [None]


def test_purged_files_are_named(table):
    (Path(table.path) / table.first.path).unlink()
    with pytest.raises(InvalidError, match="RESTORE_FILES_MISSING") as caught:
        run_restore(table.open(), version=1)
    assert table.first.path in str(caught.value)
    assert table.log.snapshot().version == 2


@pytest.fixture
def expired(make):
    """A table whose version 1 is still there, but may be deleted."""
    table = make((), session={"spark.indextables.purge.retentionCheckEnabled": "false"})
    old = table.put("old", age_hours=500)
    table.commit(old)
    table.commit(RemoveFile(old.path), table.put("new", age_hours=500))
    table.log.checkpoint()
    table.age(2000)
    return table


def _around_the_first_commit(monkeypatch, before, after=None):
    """Let something happen just before, and just after, the next commit."""
    commit = Log.commit

    def followed(log, transaction):
        monkeypatch.setattr(Log, "commit", commit)
        before()
        done = log.commit(transaction)
        if after is not None:
            after()
        return done

    monkeypatch.setattr(Log, "commit", followed)


def _purge(table):
    return finish(run_purge(table.open(), older_than_hours=0, log_hours=0), table.door)


def test_nothing_changes_when_the_version_is_purged_before_the_commit(expired, monkeypatch):
    table, now = expired, expired.paths()
    _around_the_first_commit(monkeypatch, lambda: _purge(table))
    with pytest.raises(InvalidError, match="RESTORE_CLEANED") as caught:
        run_restore(table.open(), version=1)
    assert "equal to version 2" in str(caught.value)
    assert table.paths() == now
    assert set(now) <= set(table.stored())


def test_the_error_names_the_version_to_go_back_to(expired, monkeypatch):
    table = expired
    _around_the_first_commit(
        monkeypatch, lambda: _purge(table), lambda: table.commit(table.put("other"))
    )
    with pytest.raises(InvalidError, match="RESTORE_CLEANED") as caught:
        run_restore(table.open(), version=1)
    assert "restore version 2" in str(caught.value)
    run_restore(table.open(), version=2)
    assert table.paths() == ["splits/split-new.split"]


def test_a_restore_is_done_when_the_store_fails_after_the_commit(table, monkeypatch):
    def fail(reader, version=None):
        raise error("STORAGE_FAILED", path="x", detail="simulated")

    _around_the_first_commit(
        monkeypatch, lambda: None, lambda: monkeypatch.setattr(Reader, "load", fail)
    )
    assert run_restore(table.open(), version=1)[0]["new_version"] == 3
    monkeypatch.undo()
    assert table.paths() == [table.first.path]


def test_an_expired_version_is_restored(expired):
    old = expired.log.snapshot(1).files()["path"].to_pylist()
    run_restore(expired.open(), version=1)
    assert expired.paths() == old
