from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indextables.plan.retention import (
    LogFiles,
    Retention,
    StoredFile,
    plan_log_cleanup,
    plan_orphans,
    plan_truncation,
)

HOUR = 3_600_000
NOW = 1000 * HOUR


def _files(versions, states=(), checkpoints=(), pointer=None, age=500):
    at = NOW - age * HOUR
    return LogFiles(
        dict.fromkeys(versions, at),
        dict.fromkeys(states, at),
        dict.fromkeys(checkpoints, at),
        pointer,
    )


def test_nothing_goes_without_a_checkpoint():
    found = plan_log_cleanup(_files(range(9)), Retention(0, 0, 1), NOW)
    assert (found.versions, found.states, found.checkpoints) == ((), (), ())


def test_versions_below_the_newest_state_go_when_old():
    files = _files(range(13), states=[10], pointer=10)
    assert plan_log_cleanup(files, Retention(HOUR, HOUR, 2), NOW).versions == tuple(range(10))
    assert plan_log_cleanup(files, Retention(720 * HOUR, HOUR, 2), NOW).versions == ()


def test_newest_states_and_the_one_pointed_at_stay():
    files = _files(range(45), states=[10, 20, 30, 40], pointer=20)
    assert plan_log_cleanup(files, Retention(0, 0, 2), NOW).states == (10,)
    assert plan_log_cleanup(files, Retention(0, 720 * HOUR, 2), NOW).states == ()


def test_current_version_stays_even_when_its_state_exists():
    files = _files([0, 1, 2], states=[2], pointer=2)
    assert plan_log_cleanup(files, Retention(0, 0, 1), NOW).versions == (0, 1)


def test_young_version_keeps_the_ones_after_it():
    versions = {0: 0, 1: NOW, 2: 0, 3: 0}
    files = LogFiles(versions, {3: 0}, {}, 3)
    assert plan_log_cleanup(files, Retention(HOUR, HOUR, 1), NOW).versions == (0,)


def test_truncation_keeps_only_the_base():
    found = plan_truncation(_files(range(6), states=[3, 5], checkpoints=[2]), 5)
    assert found.versions == (0, 1, 2, 3, 4)
    assert found.states == (3,)
    assert found.checkpoints == (2,)


@given(
    st.dictionaries(st.integers(0, 30), st.integers(0, 100), max_size=20),
    st.dictionaries(st.integers(0, 30), st.integers(0, 100), max_size=4),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(1, 3),
)
def test_newest_version_can_always_be_read_after_cleaning(versions, states, log, state, keep):
    files = LogFiles(
        {v: t * HOUR for v, t in versions.items()}, {v: t * HOUR for v, t in states.items()}, {}
    )
    cleanup = plan_log_cleanup(files, Retention(log * HOUR, state * HOUR, keep), 100 * HOUR)
    newest = max((*versions, *states), default=None)
    if newest is None:
        return
    before = _readable(versions, states, newest)
    left_versions = set(versions) - set(cleanup.versions)
    left_states = set(states) - set(cleanup.states)
    assert _readable(left_versions, left_states, newest) == before
    for version in left_states:
        assert _readable(left_versions, left_states, version)


def _readable(versions, states, target):
    bases = [b for b in states if b <= target] + ([-1] if 0 in versions else [])
    return any(all(v in versions for v in range(b + 1, target + 1)) for b in bases)


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
