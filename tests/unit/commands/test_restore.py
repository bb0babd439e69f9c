from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from indextables.commands.restore import run_restore
from indextables.errors import InvalidError
from indextables.log.actions import DeletionVector, RemoveFile


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
