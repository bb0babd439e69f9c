"""Every table written by the existing implementation opens at all of its retained versions."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest
from tests.log.changes import append
from tests.log.tables import add

from indextables.log import open_log
from indextables.log.names import state_name, version_file
from indextables.storage import open_store

# live splits by version, from the history of each table; -1: not retained
EXPECTED = {
    "indextables-0.5.3/all_types": [0, 2],
    "indextables-0.5.3/empty_table": [0],
    "indextables-0.5.3/field_options": [0, 1],
    "indextables-0.5.3/json_checkpoint": list(range(13)),
    "indextables-0.5.3/json_field": [0, 2],
    "indextables-0.5.3/logs_small": [0, 2],
    "indextables-0.5.3/many_versions": [*range(16), *range(1, 11)],
    "indextables-0.5.3/merged": [0, 2, 4, 6, 8, 10, 12, 1],
    "indextables-0.5.3/nan_inf": [0, 1],
    "indextables-0.5.3/partitioned": [0, 2, 4, 6, 9],
    "indextables-0.5.3/type_array": [0, 1],
    "indextables-0.5.3/type_map": [0, 1],
    "indextables-0.5.3/uncompressed_log": [0, 1, 2, 3],
    "indextables-0.5.4/01_single_write": [0, 2],
    "indextables-0.5.4/02_five_appends": [0, 2, 4, 6, 8, 10],
    "indextables-0.5.4/03_with_removes": [0, 2, 4, 6, 1],
    "indextables-0.5.4/04_partitioned": [0, 3],
    "indextables-0.5.4/05_many_transactions": list(range(0, 31, 2)),
    "indextables-0.5.4/06_schema_dedup": list(range(0, 25, 2)),
    "indextables-0.5.4/07_two_writes_no_checkpoint": [0, 2, 4],
    "indextables-0.5.4/08_ten_writes_at_checkpoint": list(range(0, 21, 2)),
    "indextables-0.5.4/10_large_batch": [0, 2],
    "indextables-0.5.4/12_partition_drop": [0, 4, 2],
    "indextables-0.5.4/14_after_merge": [0, 2, 4, 6, 8, 1],
    "indextables-0.5.4/17_truncated_log": [0, 2, 4, 6, 8, 10, 12, 14, 16, 16],
    "indextables-0.5.5/all_types": [0, 2],
    "indextables-0.5.5/logs_small": [0, 2],
    "indextables-0.5.5/merged": [0, 2, 4, 6, 8, 10, 12, 1],
}


@pytest.fixture
def place(request):
    """The location of a table; tables of 0.5.4 are not in the repository."""

    def find(name):
        elsewhere = name.startswith("indextables-0.5.4")
        folder = request.getfixturevalue("fixtures_054" if elsewhere else "fixtures") / name
        return folder / "table" if (folder / "table").exists() else folder

    return find


def log_of(path):
    return open_log(open_store(str(path)))


def live(log, version=None):
    return set(log.snapshot(version).files()["path"].to_pylist())


@pytest.fixture
def copied(place, tmp_path):
    def copy(name):
        shutil.copytree(place(name), tmp_path / "t")
        return tmp_path / "t"

    return copy


def test_no_table_is_left_out(fixtures, fixtures_054):
    folders = [*fixtures.glob("indextables-*/*"), *fixtures_054.glob("indextables-0.5.4/*")]
    assert {f"{f.parent.name}/{f.name}" for f in folders if f.is_dir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_table_opens_with_its_live_files_at_every_version(place, name):
    log = log_of(place(name))
    assert [log.snapshot(v).num_files for v in range(len(EXPECTED[name]))] == EXPECTED[name]
    newest = log.snapshot()
    assert newest.version == len(EXPECTED[name]) - 1
    assert all((place(name) / path).is_file() for path in live(log))
    sizes = newest.files().select(["path", "size"]).to_pylist()
    assert all((place(name) / r["path"]).stat().st_size == r["size"] for r in sizes)


@pytest.mark.parametrize("name", [n for n in EXPECTED if not n.startswith("indextables-0.5.4")])
def test_the_log_counts_the_rows_that_went_in(fixtures, place, name):
    expected = pq.read_metadata(fixtures / name / "expected.parquet").num_rows
    assert log_of(place(name)).snapshot().num_records == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_every_document_mapping_is_found(place, name):
    snapshot = log_of(place(name)).snapshot()
    for entry in snapshot.files().to_pylist():
        mapping = entry["docMappingJson"] or snapshot.registry[entry["docMappingRef"]]
        assert isinstance(json.loads(mapping), list)


@pytest.mark.parametrize("name", ["indextables-0.5.5/merged", "indextables-0.5.3/json_checkpoint"])
def test_replay_and_checkpoint_agree_when_both_are_there(copied, name):
    path = copied(name)
    log = log_of(path)
    before = [live(log, v) for v in range(len(EXPECTED[name]))]
    for state in [*(path / "_transaction_log").glob("state-v*")]:
        shutil.rmtree(state)
    for checkpoint in (path / "_transaction_log").glob("*checkpoint*"):
        checkpoint.unlink()
    replayed = log_of(path)
    assert [live(replayed, v) for v in range(len(EXPECTED[name]))] == before


@pytest.mark.parametrize("damage", ["missing", "stale", "ahead", "text"])
@pytest.mark.parametrize("name", ["indextables-0.5.3/many_versions", "indextables-0.5.5/merged"])
def test_the_newest_state_is_found_when_the_pointer_is_wrong(copied, name, damage):
    path = copied(name)
    expected = live(log_of(path))
    pointer = path / "_transaction_log/_last_checkpoint"
    pointer.unlink()
    if damage == "stale":
        pointer.write_text('{"version": 2, "stateDir": "' + state_name(2) + '"}')
    elif damage == "ahead":
        pointer.write_text('{"version": 99}')
    elif damage == "text":
        pointer.write_bytes(b"\x00\xff nonsense")
    assert live(log_of(path)) == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_an_append_is_seen_when_we_write_to_their_table(copied, name):
    path = copied(name)
    log = log_of(path)
    here = log.snapshot()
    done = log.commit(append(here, [add("new", doc_mapping_json="[]")]))
    assert done.version == here.version + 1
    assert (path / version_file(done.version)).is_file()
    for _ in range(2):
        fresh = log_of(path)
        assert live(fresh) == {*here.files()["path"].to_pylist(), "splits/new.split"}
        assert live(fresh, here.version) == set(here.files()["path"].to_pylist())
        log.checkpoint()
