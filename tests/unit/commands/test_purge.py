from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.commands import delete_task
from indextables.commands.delete_task import PER_TASK
from indextables.commands.purge import run_purge
from indextables.config.option import PREFIX
from indextables.errors import InvalidError
from indextables.log import Log, names, operations
from indextables.log.actions import DeletionVector, RemoveFile
from indextables.runtime.side_by_side import side_by_side
from indextables.runtime.steps import finish
from indextables.sql.local import LocalContext

FREE = {"spark.indextables.purge.retentionCheckEnabled": "false"}


def _purge(table, **how):
    return finish(run_purge(table.open(), **how), table.door)[0]["metrics"]


def test_only_old_unreferenced_files_go(make):
    table = make(())
    live = table.put("live", age_hours=500)
    table.commit(live)
    table.put("orphan", size=1 << 20, age_hours=500)
    table.put("young", age_hours=1)
    table.write("index/index-00000000-0000-4000-8000-000000000001-0", 5, 500)
    # files that a killed writer had not renamed yet
    table.write("splits/.0a1b2c.split-orphan.split", 5, 500)
    table.write("notes.txt", 5, 500)
    metrics = _purge(table)
    assert metrics["status"] == "SUCCESS"
    assert (metrics["orphaned_files_found"], metrics["orphaned_files_deleted"]) == (3, 3)
    assert metrics["size_mb_deleted"] == pytest.approx(1 + 10 / (1 << 20))
    left = table.stored()
    assert live.path in left
    assert "splits/split-young.split" in left
    assert "notes.txt" in left
    assert not [path for path in left if "orphan" in path or path.startswith("index/")]


def test_tables_inside_the_folder_keep_their_files(make):
    table = make(("day", "hour"))
    table.commit(table.put("live", day="d1", hour="h1", age_hours=500))
    table.put("orphan", day="d1", hour="h1", age_hours=500)
    inside = (
        "other/splits/split-a.split",
        "day=d1/t/splits/split-b.split",
        "day=d1/hour=h1/t/c.split",
    )
    for path in inside:
        table.write(path, 5, 500)
    for folder in ("other", "day=d1/t", "day=d1/hour=h1/t"):
        table.write(f"{folder}/_transaction_log/{0:020d}.json", 5, 500)
    metrics = _purge(table)
    assert metrics["orphaned_files_deleted"] == 1
    assert {*inside} <= {*table.stored()}


def test_dry_run_deletes_nothing(make):
    table = make(())
    table.put("orphan", age_hours=500)
    before = table.stored()
    metrics = _purge(table, dry_run=True)
    assert (metrics["status"], metrics["dry_run"]) == ("DRY_RUN", True)
    assert (metrics["orphaned_files_found"], metrics["orphaned_files_deleted"]) == (1, 0)
    assert table.stored() == before


def test_files_of_retained_versions_stay(make):
    table = make((), session=FREE)
    old = table.put("old", age_hours=500)
    table.commit(old)
    table.commit(RemoveFile(old.path))
    assert _purge(table, older_than_hours=0)["orphaned_files_found"] == 0
    assert old.path in table.stored()


def test_vectors_in_use_stay(make):
    table = make(())
    name = "index/index-00000000-0000-4000-8000-000000000002-0"
    table.write(name, 5, 500)
    table.commit(table.put("a", deletion_vector=DeletionVector(name, 1, 22, 1)))
    assert _purge(table)["orphaned_files_found"] == 0


def test_short_retention_is_refused_unless_allowed(make):
    with pytest.raises(InvalidError, match="PURGE_RETENTION"):
        _purge(make(()), older_than_hours=5)
    assert _purge(make((), FREE, "free"), older_than_hours=0)["status"] == "SUCCESS"


def test_oldest_go_first_when_there_is_a_limit(make):
    table = make((), session={"spark.indextables.purge.maxFilesToDelete": "1"})
    table.put("older", age_hours=900)
    table.put("old", age_hours=800)
    metrics = _purge(table)
    assert (metrics["orphaned_files_found"], metrics["orphaned_files_deleted"]) == (2, 1)
    assert "splits/split-old.split" in table.stored()
    assert "splits/split-older.split" not in table.stored()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "remove", "orphan"]), st.integers(0, 400), st.integers(0, 9)
        ),
        max_size=25,
    ),
    st.integers(0, 300),
)
@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
def test_no_retained_version_loses_a_file(make, tmp_path_factory, steps, hours):
    table = make((), FREE, f"t{tmp_path_factory.mktemp('p').name}")
    live = []
    for count, (kind, age, pick) in enumerate(steps):
        if kind == "add":
            add = table.put(f"s{count}", age_hours=age)
            table.commit(add)
            live.append(add.path)
        elif kind == "remove" and live:
            table.commit(RemoveFile(live.pop(pick % len(live))))
        elif kind == "orphan":
            table.put(f"o{count}", age_hours=age)
    needed = {
        path
        for version in range(table.log.snapshot().version + 1)
        for path in table.log.snapshot(version).files()["path"].to_pylist()
    }
    _purge(table, older_than_hours=hours)
    left = set(table.stored())
    assert needed <= left
    for version in range(table.log.snapshot().version + 1):
        table.log.snapshot(version).files()


@pytest.mark.parametrize(("setting", "threads"), [("1", 1), ("3", 3), ("auto", 8)])
def test_files_are_deleted_as_parallel_as_set(make, monkeypatch, setting, threads):
    made = make((), {f"{PREFIX}purge.parallelism": setting})
    made.write("splits/split-old.split", age_hours=1000)
    used = []

    def noted(work, paths, parallelism):
        used.append(parallelism)
        return side_by_side(work, paths, parallelism)

    monkeypatch.setattr(delete_task, "side_by_side", noted)
    _purge(made)
    assert used == [threads]
    assert "splits/split-old.split" not in made.stored()


def test_many_files_are_deleted_by_tasks(make):
    """Each task deletes a thousand."""
    table = make((), FREE)
    live = table.put("live")
    table.commit(live)
    for number in range(PER_TASK + 5):
        table.write(f"splits/split-{number}.split", 1, 500)
    ran = []

    class Tasks(LocalContext):
        def run_task(self, kind, payload):
            ran.append((kind, len(payload["paths"])))
            return super().run_task(kind, payload)

    found = finish(run_purge(table.open(), older_than_hours=0), Tasks())[0]["metrics"]
    assert sorted(ran) == [("delete", 5), ("delete", PER_TASK)]
    assert (found["status"], found["orphaned_files_deleted"]) == ("SUCCESS", PER_TASK + 5)
    assert [path for path in table.stored() if path.endswith(".split")] == [live.path]


def test_a_dry_run_names_its_candidates(make):
    table = make(())
    table.commit(table.put("live"))
    table.put("orphan-1", age_hours=500)
    table.put("orphan-2", age_hours=500)
    metrics = _purge(table, dry_run=True)
    assert (
        "would delete splits/split-orphan-1.split, splits/split-orphan-2.split"
        in (metrics["message"])
    )
    assert "live" not in metrics["message"]


def test_parts_of_a_checkpoint_that_was_never_completed_stop_no_purge(make):
    """A writer died before the head; the versions it would have covered have been removed."""
    table = make(())
    for name in "abc":
        table.commit(table.put(name))
    table.log.checkpoint()
    table.age(24 * 40)
    table.log.clean()
    part = f"{names.FOLDER}/{names.part_name(1, 'ab', 1)}"
    table.log.store.put(part, b"{}")
    table.put("orphan", age_hours=500)
    assert _purge(table)["orphaned_files_deleted"] == 1


def test_a_split_that_is_restored_during_the_purge_stays(make, monkeypatch):
    table = make((), session=FREE)
    old = table.put("old", age_hours=500)
    table.commit(old)
    table.commit(RemoveFile(old.path), table.put("new", age_hours=500))
    table.log.checkpoint()
    table.age(2000)
    target = table.log.snapshot(1)
    target.files()
    clean = Log.clean

    def restored_before(log, *given, **named):
        if not named.get("dry_run"):
            monkeypatch.setattr(Log, "clean", clean)
            table.log.commit(operations.restore(table.log.snapshot(), target))
        return clean(log, *given, **named)

    monkeypatch.setattr(Log, "clean", restored_before)
    metrics = _purge(table, older_than_hours=0, log_hours=0)
    assert metrics["orphaned_files_deleted"] == metrics["orphaned_files_found"] == 0
    assert old.path in table.stored()
    assert table.paths() == [old.path]
