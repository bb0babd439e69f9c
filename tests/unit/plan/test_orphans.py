from __future__ import annotations

from indextables.plan.orphans import StoredFile, plan_orphans


def test_orphans_are_old_and_unreferenced():
    stored = [
        StoredFile("splits/a.split", 1, 5),
        StoredFile("splits/.a.split.crc", 1, 5),
        StoredFile("splits/b.split", 1, 9),
        StoredFile("splits/c.split", 1, 3),
        StoredFile("splits/.c.split.crc", 1, 4),
    ]
    found, count = plan_orphans(stored, {"splits/a.split"}, 6, 10)
    assert [f.path for f in found] == ["splits/c.split", "splits/.c.split.crc"]
    assert count == 2
    assert plan_orphans(stored, set(), 100, 1)[1] == 5
    assert len(plan_orphans(stored, set(), 100, 1)[0]) == 1
