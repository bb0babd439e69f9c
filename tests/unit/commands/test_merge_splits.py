from __future__ import annotations

import os
from dataclasses import replace

import pytest

from indextables.commands.merge_jobs import run_describe_merge_jobs
from indextables.commands.merge_splits import (
    MergeRequest,
    MergeSplits,
    _large_batches,
    _Planned,
    run,
    run_merge,
)
from indextables.commands.target import Target
from indextables.config.option import PREFIX
from indextables.errors import IndexTablesError, StorageError, error
from indextables.log.actions import DeletionVector, RemoveFile
from indextables.plan.merge import MergeGroup
from indextables.runtime.steps import finish

NO_CHECKPOINT = {"spark.indextables.state.compaction.afterMerge": "false"}


def _merged(payload, skipped=()):
    """The engine's result; the size of the split is the sum of its inputs'."""
    size = 7 * (len(payload["inputs"]) - len(skipped))
    return {
        "info": {
            "size": size,
            "footer_start": 1,
            "footer_end": 2,
            "num_records": 5 * (len(payload["inputs"]) - len(skipped)),
            "uncompressed_size": size,
            "runs": [],
            "doc_mapping": [{"name": "id", "type": "i64"}],
            "columns": {},
        },
        "skipped": dict.fromkeys(skipped, "broken"),
    }


def _merge(table, **clauses):
    return finish(run_merge(table.open, MergeRequest(**clauses)), table.door)[0]


@pytest.fixture
def table(make):
    made = make(("day", "hour"), session=NO_CHECKPOINT)
    made.door.merge = _merged
    return made


def test_small_splits_become_one_per_partition(table):
    table.commit(
        table.put("a", hour="1", min_values={"id": "9"}, max_values={"id": "10"}),
        table.put("b", hour="1", min_values={"id": "2"}, max_values={"id": "3"}),
        table.put("c", hour="2"),
        table.put("d", hour="2"),
        table.put("e", hour="3"),
    )
    row = _merge(table)
    metrics = row["metrics"]
    assert metrics["status"] == "success"
    assert (metrics["merged_files"], metrics["merge_groups"]) == (4, 2)
    assert (metrics["original_size_bytes"], metrics["merged_size_bytes"]) == (40, 28)
    assert metrics["message"] == "batches: 1, successful: 1, failed: 0, merge_generations: 1"
    files = table.log.snapshot().files().to_pylist()
    assert len(files) == 3
    first = next(f for f in files if dict(f["partitionValues"])["hour"] == "1")
    assert first["path"].startswith("day=2024-01-01/hour=1/splits/split-")
    assert (dict(first["minValues"]), dict(first["maxValues"])) == ({"id": "2"}, {"id": "10"})
    assert (first["numMergeOps"], first["numRecords"], first["dataChange"]) == (1, 10, False)
    assert run_describe_merge_jobs()[-1]["status"] == "COMPLETED"


@pytest.mark.parametrize(("at_once", "jobs"), [("1", [1, 1, 1]), ("2", [2, 1]), ("9", [3])])
def test_batches_are_merged_at_the_same_time_and_committed_one_by_one(table, at_once, jobs):
    table.door.session |= {
        f"{PREFIX}merge.batchSize": "1",
        f"{PREFIX}merge.maxConcurrentBatches": at_once,
    }
    table.commit(*(table.put(f"{n}{hour}", hour=hour) for n in "ab" for hour in "123"))
    sizes = []
    tasks = table.door.tasks
    table.door.tasks = lambda kind, payloads, places=(): (
        sizes.append(len(payloads)) or tasks(kind, payloads)
    )
    metrics = _merge(table)["metrics"]
    assert metrics["message"] == "batches: 3, successful: 3, failed: 0, merge_generations: 1"
    assert sizes == jobs
    assert table.log.snapshot().version == 4
    assert len(table.paths()) == 3


def test_a_merge_is_one_version_however_many_groups_there_are(table, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    table.commit(*(table.put(f"{n}{hour}", hour=hour) for n in "ab" for hour in "123"))
    assert _merge(table)["metrics"]["merge_groups"] == 3
    assert table.log.snapshot().version == 2


@pytest.mark.parametrize(
    ("sizes", "cores", "batches"),
    [
        ([1] * 4, 2, [4]),
        ([1] * 9, 2, [5, 4]),
        ([3, 3, 3, 3], 1, [2, 2]),
        ([9, 9, 1], 2, [2, 1]),
        ([9, 9], 8, [2]),
    ],
)
def test_a_lot_of_data_is_committed_in_batches(sizes, cores, batches):
    groups = [_Planned(MergeGroup({}, ("a", "b"), size << 30, 0), "c") for size in sizes]
    assert [len(batch) for batch in _large_batches(groups, cores)] == batches


def test_nothing_to_do_is_said(table):
    assert _merge(table)["metrics"]["message"] == "Table is empty"
    table.commit(table.put("a"))
    metrics = _merge(table)["metrics"]
    assert (metrics["status"], metrics["message"]) == (
        "no_action",
        "All splits are already optimal size",
    )


def test_precommit_is_pending_and_missing_table_an_error_row(table, tmp_path):
    row = _merge(table, precommit=True)
    assert (row["table_path"], row["metrics"]["status"]) == ("PRE-COMMIT MERGE", "pending")

    def message(path):
        row = finish(run(MergeSplits(Target(path=str(path))), table.door), table.door)[0]
        assert row["metrics"]["status"] == "error"
        return row["metrics"]["message"]

    assert message(tmp_path / "missing") == "Table or path does not exist"
    (tmp_path / "folder").mkdir()
    assert message(tmp_path / "folder") == "Not a valid IndexTables4Spark table"
    (tmp_path / "folder/notes.txt").write_text("not a table")
    assert message(tmp_path / "folder") == "Not a valid IndexTables4Spark table"


def test_where_chooses_partitions(table):
    table.commit(*[table.put(f"{h}{n}", hour=h) for h in "12" for n in "ab"])
    assert _merge(table, where="hour = 2")["metrics"]["merged_files"] == 2
    assert len(table.paths()) == 3


def test_unreadable_source_stays_and_is_skipped_for_a_while(table):
    adds = [table.put(name) for name in "abc"]
    table.commit(*adds)
    broken = adds[1].path
    table.door.merge = lambda payload: _merged(payload, [broken])
    metrics = _merge(table)["metrics"]
    assert metrics["status"] == "partial_success"
    assert broken in metrics["message"]
    assert broken in table.paths()
    assert len(table.paths()) == 2
    snapshot = table.log.snapshot()
    assert snapshot.skips(table.door.clock.ms)[broken].skip_count == 1
    table.door.merge = _merged
    assert _merge(table)["metrics"]["status"] == "no_action"
    table.door.clock.ms += 25 * 3_600_000
    assert _merge(table)["metrics"]["merged_files"] == 2
    assert broken not in table.paths()


def test_failed_merge_raises_and_changes_nothing(table):
    table.commit(table.put("a"), table.put("b"))
    before = table.paths()
    table.door.merge = lambda payload: {"error": "no space"}
    with pytest.raises(StorageError, match=r"MERGE_FAILED.*no space"):
        _merge(table)
    assert table.paths() == before


def test_append_during_a_merge_survives(table):
    table.commit(table.put("a"), table.put("b"))

    def merge(payload):
        table.commit(table.put("late", size=10**9))
        return _merged(payload)

    table.door.merge = merge
    assert _merge(table, target_bytes=1 << 20)["metrics"]["status"] == "success"
    assert len(table.paths()) == 2
    assert any("late" in path for path in table.paths())


@pytest.mark.parametrize("kind", ["delete rows", "overwrite"])
def test_changed_source_is_never_lost_or_brought_back(table, kind):
    adds = [table.put(name) for name in "ab"]
    others = [table.put(name, hour="2") for name in "cd"]
    table.commit(*adds, *others)
    done = []

    def merge(payload):
        if not done:
            done.append(1)
            vector = DeletionVector("index/v", 1, 2, 3)
            gone = RemoveFile(adds[0].path)
            if kind == "overwrite":
                table.commit(gone)
            else:
                table.commit(gone, replace(adds[0], deletion_vector=vector))
        return _merged(payload)

    table.door.merge = merge
    metrics = _merge(table)["metrics"]
    assert metrics["merged_files"] == 2
    paths = table.paths()
    assert adds[1].path in paths
    assert (adds[0].path in paths) == (kind == "delete rows")
    files = {f["path"]: f for f in table.log.snapshot().files().to_pylist()}
    if kind == "delete rows":
        assert files[adds[0].path]["deletionVector"]["cardinality"] == 3
    assert not [p for p in paths if p in {o.path for o in others}]


def test_merge_whose_only_group_changed_is_no_failure(table):
    adds = [table.put(name) for name in "ab"]
    table.commit(*adds)

    def merge(payload):
        table.commit(RemoveFile(adds[0].path))
        return _merged(payload)

    table.door.merge = merge
    metrics = _merge(table)["metrics"]
    assert (metrics["status"], metrics["merged_files"]) == ("partial_success", 0)
    assert "1 groups changed while they were merged" in metrics["message"]
    assert table.paths() == [adds[1].path]


def test_a_merge_waits_for_its_tasks_and_does_nothing_twice(table):
    table.commit(table.put("a"), table.put("b"))
    steps = run_merge(table.open, MergeRequest())
    need = next(steps)
    assert (need.kind, len(need.payloads)) == ("merge", 1)
    assert (_job()["status"], _job()["total_groups"]) == ("RUNNING", 1)
    with pytest.raises(StopIteration) as end:
        steps.send([_merged(payload) for payload in need.payloads])
    assert end.value.value[0]["metrics"]["status"] == "success"
    assert (_job()["status"], _job()["completed_groups"]) == ("COMPLETED", 1)
    assert len(table.paths()) == 1
    assert table.log.snapshot().version == 2


@pytest.mark.parametrize("ended", ["failed", "left alone"])
def test_a_merge_that_ends_early_is_no_longer_running(table, ended):
    table.commit(table.put("a"), table.put("b"))
    steps = run_merge(table.open, MergeRequest())
    next(steps)
    if ended == "failed":
        with pytest.raises(IndexTablesError, match="no executor"):
            steps.throw(error("COMMAND_STOPPED", reason="no executor"))
    else:
        steps.close()
    assert _job()["status"] == "FAILED"
    assert len(table.paths()) == 2


def _job():
    return run_describe_merge_jobs()[-1]


def test_table_returns_to_the_protocol_others_know_when_deleted_rows_are_gone(table, monkeypatch):
    from pyroaring import BitMap

    from indextables.commands import merge_payload

    add = table.put("a", size=10**9)
    table.commit(add)
    vector = DeletionVector("index/v", 1, 2, 3)
    table.commit(RemoveFile(add.path), replace(add, deletion_vector=vector))
    assert table.log.snapshot().protocol.min_reader_version == 5
    monkeypatch.setattr(merge_payload, "load_deletions", lambda store, vector: BitMap([1, 2, 3]))
    assert _merge(table)["metrics"]["merged_files"] == 1
    protocol = table.log.snapshot().protocol
    assert protocol.min_reader_version == protocol.min_writer_version == 4
    assert "deletionVectors" not in protocol.reader_features
    other = table.put("b")
    table.commit(other)
    table.commit(RemoveFile(other.path), replace(other, deletion_vector=vector))
    assert table.log.snapshot().protocol.min_reader_version == 5
