"""Tasks that list a large table find what a single listing finds."""

from __future__ import annotations

import pytest

from indextables.commands import list_task
from indextables.commands.list_task import Digests
from indextables.commands.purge import run_purge
from indextables.commands.purge_plan import plan_purge, plan_purge_by_tasks
from indextables.log.actions import RemoveFile
from indextables.log.retention import Policy
from indextables.runtime.steps import finish
from indextables.sql.local import LocalContext

BY_TASKS = {"spark.indextables.purge.maxFilesListedByPlanner": "0"}
INDEX = "index/index-00000000-0000-4000-8000-00000000000{}-0"
OLD = 500


class Counting(LocalContext):
    """Runs tasks in this process and records the folders that each one lists."""

    def __init__(self):
        super().__init__()
        self.listed = []

    def run_task(self, kind, payload):
        if kind == "list_orphans":
            self.listed.append(payload["folders"])
        return super().run_task(kind, payload)


def fill(table, days: int) -> None:
    """Add live splits, and everything else that may be in a table's folder."""
    for day in range(days):
        live = table.put("live", day=f"d{day}", age_hours=OLD)
        table.commit(live)
        folder = live.path.rpartition("/")[0]
        table.write(f"{folder}/.split-live.split.crc", 3, OLD)
        table.put(f"orphan-{day}", day=f"d{day}", hour=str(day), size=day + 1, age_hours=OLD + day)
        table.put("young", day=f"d{day}")
    gone = table.put("gone", day="d0", age_hours=OLD)
    table.commit(gone)
    table.commit(RemoveFile(gone.path))  # an older version refers to it
    # a partition that no version refers to, orphaned checksum files, files above partitions
    table.write("day=d999/hour=7/split-x.split", 5, OLD)
    table.write("day=d0/hour=1/deep/er/split-deep.split", 5, OLD)
    table.write("day=d0/split-between.split", 5, OLD)
    table.write("day=d0/hour=1/.split-none.split.crc", 5, OLD)
    table.write("split-root.split", 5, OLD)
    table.write("foreign/part-0.split", 5, OLD)
    table.write("foreign/part-0.parquet", 5, OLD)
    table.write("day=d0/notes.txt", 5, OLD)
    table.write(INDEX.format(1), 5, OLD)
    # other tables inside the folder
    for inside in ("other", "foreign/deep/er", "day=d0/t", "day=d0/hour=1/t"):
        table.write(f"{inside}/_transaction_log/{0:020d}.json", 5, OLD)
        table.write(f"{inside}/splits/split-theirs.split", 5, OLD)
    (table.door.root / "table" / "day=empty" / "hour=1").mkdir(parents=True)


def too_old(table) -> float:
    return table.door.clock.ms - 24 * 3_600_000


@pytest.mark.parametrize("days", [1, 3, list_task._ENOUGH + 6])
@pytest.mark.parametrize("columns", [("day",), ("day", "hour")], ids=["plain", "nested"])
def test_tasks_find_what_one_listing_finds(make, columns, days):
    table = make(columns, BY_TASKS)
    fill(table, days)
    opened, policy, door = table.open(), Policy.of(table.open().settings), Counting()
    here = plan_purge(opened, policy, too_old(table))
    assert finish(plan_purge_by_tasks(opened, policy, too_old(table)), door) == here
    found = {orphan.path for orphan in here.orphans}
    assert here.orphans_found == len(found)
    assert len([path for path in found if "/split-orphan-" in path]) == days
    assert {"split-root.split", "foreign/part-0.split", INDEX.format(1)} < found
    kept = ("live", "young", "gone", "theirs", ".txt", ".parquet")
    assert not [path for path in found if any(word in path for word in kept)]
    listed = [folder for each in door.listed for folder in each]
    assert len(listed) == len(set(listed)) > 1
    deep = len(columns) > 1 and days + 3 < list_task._ENOUGH
    assert ("day=d0/hour=1" in listed, "day=d0" in listed) == (deep, not deep)


def test_few_files_are_listed_without_tasks(make):
    table, door = make(("day",)), Counting()
    fill(table, 3)
    opened = table.open()
    policy = Policy.of(opened.settings)
    here = plan_purge(opened, policy, too_old(table))
    assert finish(plan_purge_by_tasks(opened, policy, too_old(table)), door) == here
    assert door.listed == []


def test_a_table_without_partitions_is_listed_without_tasks(make):
    table, door = make((), BY_TASKS), Counting()
    orphan = table.put("orphan", age_hours=OLD)
    plan = plan_purge_by_tasks(table.open(), Policy.of(table.open().settings), too_old(table))
    assert [file.path for file in finish(plan, door).orphans] == [orphan.path]
    assert door.listed == []


def test_the_oldest_of_all_tasks_go_first(make, monkeypatch):
    monkeypatch.setattr(list_task, "_LISTINGS", 1)  # each folder has a task,
    monkeypatch.setattr(list_task, "_TASKS", 2)  # and results are returned in several pieces
    table = make(("day",), BY_TASKS | {"spark.indextables.purge.maxFilesToDelete": "2"})
    for day in range(5):
        table.put(f"orphan-{day}", day=f"d{day}", age_hours=OLD + day)
        table.put(f"newer-{day}", day=f"d{day}", age_hours=OLD - 1)
    door = Counting()
    metrics = finish(run_purge(table.open()), door)[0]["metrics"]
    assert len(door.listed) == 5
    assert (metrics["orphaned_files_found"], metrics["orphaned_files_deleted"]) == (10, 2)
    left = table.stored()
    assert not [path for path in left if "orphan-3" in path or "orphan-4" in path]
    assert len([path for path in left if path.endswith(".split")]) == 8


def test_a_commit_during_the_listing_counts(make):
    """For example, by a writer that took longer than the retention."""
    table = make(("day",), BY_TASKS)
    table.commit(table.put("live", age_hours=OLD))
    late, orphan = table.put("late", age_hours=OLD), table.put("orphan", age_hours=OLD)

    class Committing(LocalContext):
        def run_task(self, kind, payload):
            done = super().run_task(kind, payload)
            if kind == "list_orphans":
                assert {late.path, orphan.path} == {path for path, _, _ in done["files"]}
                table.commit(late)
            return done

    metrics = finish(run_purge(table.open()), Committing())[0]["metrics"]
    assert (metrics["orphaned_files_found"], metrics["orphaned_files_deleted"]) == (1, 1)
    assert late.path in table.stored()
    assert orphan.path not in table.stored()


def test_dry_runs_say_the_same(make):
    table = make(("day", "hour"), BY_TASKS)
    fill(table, 4)
    answers = []
    for limit in ("0", "100000"):
        table.door.session["spark.indextables.purge.maxFilesListedByPlanner"] = limit
        (row,) = finish(run_purge(table.open(), dry_run=True), Counting())
        answers.append({**row["metrics"], "duration_ms": 0})
    assert answers[0] == answers[1]
    assert "would delete" in answers[0]["message"]


def test_digests_know_their_paths():
    paths = [f"day=é{number}/split.split" for number in range(100)]
    known = Digests(Digests.pack(paths))
    assert all(path in known for path in paths)
    assert not any(f"{path}.crc" in known for path in paths)
    assert None not in known
