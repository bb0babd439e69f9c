"""Deleted rows of splits, from index files of both formats."""

from __future__ import annotations

import pytest

from indextables.errors import CorruptError, StorageError, error
from indextables.index.deletion_vectors import VERSION, encode
from indextables.index.vectors import load_deletions
from indextables.log.actions import DeletionVector
from indextables.storage import open_store
from indextables.storage.store import Store

ROWS = [1, 5, 70_000]
FILE = "index/index-1-0"


def vector(store: Store, data: bytes, length: int) -> DeletionVector:
    store.put(FILE, VERSION + data)
    return DeletionVector(file=FILE, offset=1, length=length, cardinality=len(ROWS))


@pytest.mark.parametrize(("wide", "frame"), [(False, 8), (True, 0)])
def test_both_forms_are_read_when_they_end_the_file(tmp_path, wide, frame):
    store, data = open_store(str(tmp_path)), encode(ROWS, bitmap64=wide)
    assert list(load_deletions(store, vector(store, data, len(data) - frame))) == ROWS


def test_a_failing_store_is_not_taken_for_a_damaged_file(tmp_path, monkeypatch):
    store, data = open_store(str(tmp_path)), encode(ROWS)
    written = vector(store, data, len(data) - 8)
    whole = Store.get_ranges

    def fails_once(self, path, ranges):
        monkeypatch.setattr(Store, "get_ranges", whole)
        raise error("STORAGE_FAILED", path=path, detail="down")

    monkeypatch.setattr(Store, "get_ranges", fails_once)
    with pytest.raises(StorageError, match="down"):
        load_deletions(store, written)


def test_a_file_that_is_cut_is_damaged(tmp_path):
    store, data = open_store(str(tmp_path)), encode(ROWS)
    with pytest.raises(CorruptError):
        load_deletions(store, vector(store, data[:-3], len(data) - 8))


@pytest.mark.parametrize("version", [0, 2, 255])
def test_a_file_of_another_version_is_refused_by_name(tmp_path, version):
    store, data = open_store(str(tmp_path)), encode(ROWS)
    written = vector(store, data, len(data) - 8)
    store.put(FILE, bytes([version]) + data)
    with pytest.raises(CorruptError, match=f"index-1-0.*its version is {version}"):
        load_deletions(store, written)
