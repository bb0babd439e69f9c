from __future__ import annotations

import threading

from tests.unit.commands.test_merge_splits import _merged

from indextables.commands.after_write import maintain_after_write

KEY = "spark.indextables."
MERGE = {f"{KEY}mergeOnWrite.enabled": "true", f"{KEY}mergeOnWrite.async.enabled": "false"}


def _table(make, **session):
    table = make((), session)
    table.door.merge = _merged
    table.commit(table.put("a"), table.put("b"))
    return table


def test_nothing_happens_unless_asked_for(make):
    table = _table(make)
    maintain_after_write(table.open(), table.door)
    assert len(table.paths()) == 2


def test_splits_are_merged_at_once_or_in_the_background(make):
    table = _table(make, **MERGE)
    maintain_after_write(table.open(), table.door)
    assert len(table.paths()) == 1
    table.commit(table.put("c"))
    table.door.session[f"{KEY}mergeOnWrite.async.enabled"] = "true"
    maintain_after_write(table.open(), table.door)
    for thread in threading.enumerate():
        if thread.name.startswith("merge of"):
            thread.join(60)
    assert len(table.paths()) == 1


def test_merging_waits_until_enough_has_gathered(make):
    table = _table(make, **MERGE, **{f"{KEY}mergeOnWrite.minBatchesToTrigger": "2"})
    maintain_after_write(table.open(), table.door)
    assert len(table.paths()) == 2


def test_problems_do_not_reach_the_write(make, caplog):
    table = _table(make, **MERGE)
    table.door.merge = lambda payload: {"error": "no space"}
    maintain_after_write(table.open(), table.door)
    assert "no space" in caplog.text
    assert len(table.paths()) == 2


def test_purge_follows_every_so_many_writes(make):
    session = {
        f"{KEY}purgeOnWrite.enabled": "true",
        f"{KEY}purgeOnWrite.triggerAfterWrites": "2",
    }
    table = _table(make, **session)
    table.put("orphan", age_hours=500)
    maintain_after_write(table.open(), table.door)
    assert any("orphan" in path for path in table.stored())
    maintain_after_write(table.open(), table.door)
    assert not any("orphan" in path for path in table.stored())
