"""Older versions: by number, by timestamp, in the history, restored, expired."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime

import pytest
from tests.log import changes as change
from tests.log.tables import HOUR, SCHEMA, Table, add, paths

from indextables.errors import InvalidError
from indextables.log import DeletionVector, Operation, Transaction, names, open_log
from indextables.log.history import parse_timestamp
from indextables.log.retention import LogFiles, Policy, expired
from indextables.storage import open_store


@pytest.fixture
def table():
    """One version per hour: 0 creates, 1..6 append."""
    table = Table({"checkpoint.interval": "2"})
    table.start = table.clock.now
    for n in range(1, 7):
        table.clock.now += HOUR
        table.append(f"f{n}")
    return table


def test_a_version_is_as_it_was_when_asked_for_by_number(table):
    for version in range(7):
        assert paths(table.reopen().snapshot(version)) == [f"f{n}" for n in range(1, version + 1)]


def test_an_older_version_is_kept_until_its_file_is_another(tmp_path):
    log = open_log(open_store(str(tmp_path)))
    log.create(SCHEMA)
    log.commit(Transaction(Operation.APPEND, 0, (add("f1"),)))
    first = log.snapshot(0)
    assert log.snapshot(0) is first
    shutil.rmtree(tmp_path / names.FOLDER)
    again = open_log(open_store(str(tmp_path)))
    again.create(SCHEMA)
    again.commit(Transaction(Operation.APPEND, 0, (add("f2"),)))
    assert log.snapshot(0).metadata.id == again.snapshot(0).metadata.id != first.metadata.id


@pytest.mark.parametrize(("offset", "version"), [(0, 0), (HOUR - 1, 0), (HOUR, 1), (99 * HOUR, 6)])
def test_the_newest_version_before_a_time_is_found(table, offset, version):
    assert table.reopen().snapshot(timestamp_ms=table.start + offset).version == version


def test_a_time_before_the_first_version_is_refused_with_the_first(table):
    with pytest.raises(InvalidError, match="the oldest available version is from 20"):
        table.log.snapshot(timestamp_ms=table.start - 1)


def test_a_version_that_is_not_there_is_refused_with_those_that_are(table):
    with pytest.raises(InvalidError, match="available: 0 to 6"):
        table.log.snapshot(7)
    with pytest.raises(InvalidError, match="available: 0 to 6"):
        table.log.snapshot(-1)


def test_the_history_tells_what_happened_newest_first(table):
    here = table.log.snapshot()
    table.log.commit(
        change.merge_splits(
            here, ["splits/f1.split"], [add("m")], metrics={"numSplits": 1}, parameters={"x": "y"}
        )
    )
    entries = list(table.reopen().history())
    assert [e.version for e in entries] == list(range(7, -1, -1))
    assert [e.operation for e in entries] == ["MERGE SPLITS", *["APPEND"] * 6, "CREATE TABLE"]
    assert entries[0].metrics == {"numSplits": 1}
    assert entries[0].parameters == {"x": "y"}
    assert entries[0].engine_info.startswith("indextables/")
    times = [e.timestamp_ms for e in entries]
    assert times == sorted(times, reverse=True)
    assert [e.version for e in table.log.history(limit=2)] == [7, 6]


def test_times_rise_even_when_the_clock_stands(table):
    table.append("x")
    table.append("y")
    first, second = [e.timestamp_ms for e in table.log.history(limit=2)]
    assert first > second


def test_restore_brings_files_deletions_and_metadata_back(table):
    before = table.log.snapshot()
    vector = DeletionVector("index/index-a-0", 1, 20, 1)
    change_rows = change.change_rows(Operation.DELETE, before, {"splits/f1.split": vector})
    table.log.commit(change_rows)
    table.log.commit(change.overwrite(table.log.snapshot(), [add("new")]))
    table.log.commit(change.restore(table.log.snapshot(), table.log.snapshot(7)))
    restored = table.reopen().snapshot()
    assert paths(restored) == paths(before)
    assert [v["cardinality"] for v in restored.files()["deletionVector"].to_pylist() if v] == [1]
    table.log.commit(change.restore(table.log.snapshot(), before))
    fresh = table.reopen().snapshot()
    assert paths(fresh) == paths(before)
    assert fresh.files()["deletionVector"].null_count == 6
    # others replay additions before removals: they need a state
    assert fresh.base_version == fresh.version


def test_versions_are_gone_when_retention_passes_and_the_rest_stays(table):
    table.clock.now = int(datetime.now(UTC).timestamp() * 1000) + 100 * HOUR
    young = table.clock.now - 1
    store = table.log.store
    store.put(names.version_file(6), store.get(names.version_file(6)))
    dry = table.log.clean(Policy(1, 1, 1, 1), dry_run=True)
    assert dry.versions == tuple(names.version_file(v) for v in range(6))
    assert len(table.reopen().reader.listing().versions) == 7
    done = table.log.clean(Policy(1, 1, 1, 1))
    assert done == dry
    assert young < table.clock.now
    assert paths(table.reopen().snapshot()) == [f"f{n}" for n in range(1, 7)]
    with pytest.raises(InvalidError, match="available: 6 to 6"):
        table.reopen().snapshot(3)


def test_parts_of_a_checkpoint_that_was_never_completed_are_cleaned_when_they_are_old(table):
    part = f"{names.FOLDER}/{names.part_name(3, 'ab', 1)}"
    table.log.store.put(part, b"{}")
    assert table.log.clean().paths == ()
    table.clock.now = int(datetime.now(UTC).timestamp() * 1000) + 2 * HOUR
    assert part in table.log.clean(Policy(1, 1, 1, 1)).checkpoints
    assert table.log.store.head(part) is None


def test_nothing_is_cleaned_when_everything_is_young(table):
    assert table.log.clean().paths == ()


def test_manifests_are_deleted_when_no_state_lists_them_and_they_are_old():
    table = Table({"checkpoint.interval": "1", "state.compaction.maxManifests": "1"})
    for n in range(4):
        table.append(f"f{n}")
    before = len(list(table.log.store.list(names.MANIFESTS)))
    table.clock.now += HOUR // 2
    assert table.log.clean(Policy(0, 0, 1, 1)).manifests == ()
    table.clock.now += 2 * HOUR
    done = table.log.clean(Policy(0, 0, 1, 1))
    listed = len(table.log.reader.states.read(4).manifests)
    assert len(done.manifests) == before - listed > 0
    assert len(paths(table.reopen().snapshot())) == 4


def test_a_folder_that_a_dead_writer_left_is_no_version(table):
    table.log.store.put(f"{names.FOLDER}/{names.state_name(9)}/manifest-x.avro", b"")
    assert table.reopen().snapshot().version == 6
    table.append("g")
    assert table.reopen().snapshot().version == 7


NOW = 1000 * HOUR


def gone(versions, states, policy=(1, 1, 1, 1), checkpoints=(), pointer=None):
    """The versions and states that expire, from {version: age in hours}."""
    ages = [
        {v: NOW - int(hours * HOUR) for v, hours in dict(kind).items()}
        for kind in (versions, checkpoints, states)
    ]
    found = expired(LogFiles(*ages, pointer), Policy(*policy), NOW)
    return found.versions, found.states


def test_a_base_stays_when_a_young_version_is_replayed_from_it():
    versions = {0: 9, 1: 9, 2: 9, 3: 9, 4: 0.1, 5: 0.1}
    assert gone(versions, {2: 9, 5: 0.1}) == ((0, 1, 2), ())
    assert gone(versions, {2: 9, 4: 9, 5: 0.1}) == ((0, 1, 2, 3), (2,))


def test_nothing_goes_when_there_is_no_base():
    assert gone({0: 9, 1: 9}, {}) == ((), ())


def test_the_newest_version_stays_whatever_its_age():
    assert gone({0: 9, 1: 9}, {1: 9}) == ((0,), ())


def test_states_are_kept_by_number_and_by_age_and_by_the_pointer():
    states = {1: 9, 2: 9, 3: 9, 4: 0.5, 5: 9}
    assert gone({0: 9}, states, (1, 1, 2, 1)) == ((), (1, 2, 3))
    assert gone({0: 9}, states, (1, 1, 1, 1), pointer=2) == ((), (1, 3))
    assert gone({0: 9}, states, (1, 100, 1, 1)) == ((), ())


def test_a_state_stays_when_versions_after_a_gap_need_it():
    assert gone({0: 9, 3: 0.1, 4: 0.1}, {1: 9, 2: 9, 4: 9}) == ((), (1,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31T12:00:00Z", 1_769_860_800_000),
        ("2026-01-31 12:00:00", 1_769_860_800_000),
        ("2026-01-31 13:00:00+01:00", 1_769_860_800_000),
        ("2026-01-31", 1_769_817_600_000),
        ("1769860800", 1_769_860_800_000),
        ("1769860800000", 1_769_860_800_000),
        (" 1769860800.5 ", 1_769_860_800_500),
    ],
)
def test_a_time_is_understood(text, expected):
    assert parse_timestamp(text) == expected


def test_a_text_that_is_no_time_is_refused():
    with pytest.raises(InvalidError, match="yesterday"):
        parse_timestamp("yesterday")


@pytest.mark.parametrize("text", ["inf", "nan", "1e400", "-1e18", "99999999999999999", "-1e400"])
def test_a_time_beyond_the_calendar_is_refused(text):
    with pytest.raises(InvalidError, match="TIMESTAMP_INVALID"):
        parse_timestamp(text)
