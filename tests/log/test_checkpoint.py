"""Checkpoints: what they hold, when they are written, when they are compacted."""

from __future__ import annotations

import dataclasses
import json

import pytest
from tests.log import changes as change
from tests.log.tables import HOUR, add, paths

from indextables.log import (
    DeletionVector,
    Operation,
    Protocol,
    SkipFile,
    Transaction,
    Txn,
    codec,
    names,
)
from indextables.log.actions import RemoveFile, UnknownAction


def vector(n=1):
    return DeletionVector("index/index-a-0", 1, 20, n)


def states(table):
    return table.reopen().reader.listing().states


def state(table, version):
    return table.reopen().reader.states.read(version)


def manifests(table):
    return sorted(m.path for m in table.log.store.list(names.MANIFESTS))


def test_a_checkpoint_is_written_when_the_interval_is_reached(make_table):
    table = make_table({"checkpoint.interval": "4"})
    for n in range(1, 10):
        table.append(f"f{n}")
    assert states(table) == (4, 8)
    fresh = table.reopen().snapshot()
    assert (fresh.version, fresh.base_version) == (9, 8)
    assert paths(fresh) == [f"f{n}" for n in range(1, 10)]


@pytest.mark.parametrize("options", [{"checkpoint.enabled": "false"}, {"checkpoint.interval": "0"}])
def test_no_checkpoint_is_written_when_switched_off(make_table, options):
    table = make_table(options)
    for n in range(25):
        table.append(f"f{n}")
    assert states(table) == ()


def test_a_table_property_sets_the_interval_unless_the_writer_does(make_table):
    table = make_table()
    own = {"spark.indextables.checkpoint.interval": "2"}
    here = table.log.snapshot()
    table.log.commit(
        change.change_metadata(here, lambda m: dataclasses.replace(m, configuration=own))
    )
    table.append("a")
    assert states(table) == (2,)
    table.log = table.reopen(**{"checkpoint.interval": "5"})
    for name in "bcd":
        table.append(name)
    assert states(table) == (2, 5)


def test_only_the_change_is_written_when_a_state_follows_another(make_table):
    table = make_table({"checkpoint.interval": "2"})
    table.append(*(f"a{n}" for n in range(500)))
    table.append("b")
    first = manifests(table)
    table.append("c")
    table.log.store.counters.reset()
    table.append("d")
    assert state(table, 4).manifests[:-1] == state(table, 2).manifests
    assert state(table, 4).manifests[-1].num_entries == 2
    assert len(manifests(table)) == len(first) + 1
    assert table.log.store.counters.bytes_written < 10_000
    assert table.reopen().snapshot().num_files == 503


def test_removed_files_are_tombstones_until_there_are_too_many(make_table):
    table = make_table({"checkpoint.interval": "1", "state.compaction.afterMerge": "false"})
    table.append(*(f"a{n}" for n in range(20)))
    here = table.log.snapshot()
    table.log.commit(change.merge_splits(here, ["splits/a0.split", "splits/a1.split"], [add("m")]))
    assert state(table, 2).tombstones == {"splits/a0.split", "splits/a1.split"}
    assert (state(table, 2).num_files, state(table, 2).total_bytes) == (19, 190)
    here = table.log.snapshot()
    table.log.commit(change.merge_splits(here, ["splits/a2.split"], [add("m2")]))
    assert state(table, 3).tombstones == frozenset()
    assert (state(table, 3).num_files, state(table, 3).total_bytes) == (19, 190)
    assert table.reopen().snapshot().num_files == 19


def test_the_state_is_compacted_when_it_has_too_many_manifests(make_table):
    options = {"checkpoint.interval": "1", "state.compaction.maxManifests": "3"}
    table = make_table(options)
    for n in range(6):
        table.append(f"f{n}")
    assert [len(state(table, v).manifests) for v in states(table)] == [1, 2, 3, 1, 2, 3]
    assert len(paths(table.reopen().snapshot())) == 6


def test_the_state_is_compacted_when_many_files_go_at_once(make_table):
    options = {
        "checkpoint.interval": "1",
        "state.compaction.largeRemoveThreshold": "1",
        "state.compaction.tombstoneThreshold": "1",
        "state.compaction.afterMerge": "false",
    }
    table = make_table(options)
    table.append(*(f"a{n}" for n in range(20)))
    here = table.log.snapshot()
    table.log.commit(change.merge_splits(here, ["splits/a0.split"], [add("m")]))
    assert len(state(table, 2).tombstones) == 1
    here = table.log.snapshot()
    gone = ["splits/a1.split", "splits/a2.split"]
    table.log.commit(change.merge_splits(here, gone, [add("m2")]))
    assert state(table, 3).tombstones == frozenset()


@pytest.mark.parametrize(("enabled", "expected"), [("true", (2,)), ("false", ())])
def test_a_compact_state_follows_a_merge_when_asked_for(make_table, enabled, expected):
    table = make_table({"state.compaction.afterMerge": enabled})
    table.append("a", "b", "c")
    here = table.log.snapshot()
    table.log.commit(change.merge_splits(here, ["splits/a.split", "splits/b.split"], [add("m")]))
    assert states(table) == expected
    assert paths(table.reopen().snapshot()) == ["c", "m"]


def test_compact_writes_a_version_when_an_uncompact_state_stands(make_table):
    table = make_table({"checkpoint.interval": "1"})
    table.append("a")
    table.append("b")
    assert len(state(table, 2).manifests) == 2
    done = table.log.checkpoint(compact="requested")
    assert (done.version, done.num_manifests) == (3, 1)
    again = table.log.checkpoint(compact="requested")
    assert (again.version, again.written) == (3, False)
    assert paths(table.reopen().snapshot()) == ["a", "b"]


def test_bounds_are_typed_and_entries_sorted_when_partitioned(make_table):
    options = {"state.entriesPerManifest": "2"}
    table = make_table(options, ("n",))
    for value in ("9", "10", "-3", "100"):
        table.append(f"f{value}", partition={"n": value})
    table.log.checkpoint(compact="test")
    bounds = [m.partition_bounds["n"] for m in state(table, 4).manifests]
    assert [(b.min, b.max) for b in bounds] == [("-3", "9"), ("10", "100")]


def test_manifests_are_not_read_when_their_bounds_are_refused(make_table):
    table = make_table({"state.entriesPerManifest": "2"}, ("n",))
    for value in range(6):
        table.append(f"f{value}", partition={"n": str(value)})
    table.log.checkpoint(compact="test")
    log = table.reopen()
    snapshot = log.snapshot()
    log.store.counters.reset()
    kept = snapshot.files(lambda bounds: bounds["n"].min == "2")
    assert sorted(kept["path"].to_pylist()) == ["splits/f2.split", "splits/f3.split"]
    assert log.store.counters.requests["get"] == 1


def test_a_column_has_no_bounds_when_it_holds_a_null(make_table):
    table = make_table({}, ("n", "text"))
    table.append("a", partition={"text": "x"})
    table.append("b", partition={"n": "1", "text": "y"})
    table.log.checkpoint(compact="test")
    (info,) = state(table, 2).manifests
    assert set(info.partition_bounds) == {"text"}
    values = table.reopen().snapshot().files()["partitionValues"].to_pylist()
    assert sorted(map(sorted, values)) == [[("n", "1"), ("text", "y")], [("text", "x")]]


def test_streams_skips_features_and_unknown_actions_survive_a_checkpoint(make_table):
    table = make_table()
    table.append("a")
    skip = SkipFile("splits/a.split", 1, "broken", "merge", retry_after=table.clock.now + 1)
    strange = UnknownAction.of("mystery", {"x": [1, None]})
    here = table.log.snapshot()
    table.log.commit(
        Transaction(
            Operation.APPEND,
            here.version,
            (add("b", extra={"novel": {"y": 1}}), skip, strange),
            txn=Txn("stream", 7),
            features=frozenset({"primaryKey"}),
        )
    )
    for _ in range(2):
        table.log.checkpoint(compact="test")
        fresh = table.reopen().snapshot()
        assert fresh.base_version == fresh.version
        assert fresh.txns == {"stream": 7}
        assert list(fresh.skips(table.clock.now)) == ["splits/a.split"]
        assert fresh.skips(table.clock.now + 2) == {}
        assert fresh.change.unknown == (strange,)
        assert fresh.protocol.writer_features >= {"primaryKey", "avroState"}
        assert fresh.protocol.min_writer_version == 5
        extra = [json.loads(e) for e in fresh.files()["extra"].to_pylist() if e]
        assert extra == [{"novel": {"y": 1}}]
        table.log.commit(Transaction(Operation.SKIP, fresh.version, ()))


def test_new_deletions_replace_an_entry_when_checkpoints_are_incremental(make_table):
    table = make_table({"checkpoint.interval": "1", "state.compaction.tombstoneThreshold": "0.9"})
    table.append("a", "b", "c")
    for n in (1, 2):
        here = table.log.snapshot()
        table.log.commit(change.change_rows(Operation.DELETE, here, {"splits/a.split": vector(n)}))
        fresh = table.reopen().snapshot()
        assert fresh.base_version == fresh.version
        assert paths(fresh) == ["a", "b", "c"]
        assert [v["cardinality"] for v in fresh.files()["deletionVector"].to_pylist() if v] == [n]
    assert [m.supersedes for m in state(table, 3).manifests] == [0, 1, 1]
    assert state(table, 3).num_files == 3
    assert state(table, 3).protocol_version == 5
    here = table.log.snapshot()
    table.log.commit(
        change.drop_matching(here, lambda now: change.touched(now, ["splits/a.split"]))
    )
    assert paths(table.reopen().snapshot()) == ["b", "c"]
    assert state(table, 4).num_files == 2


def test_protocol_stays_4_when_nothing_needs_more(table):
    table.append("a")
    assert table.log.snapshot().protocol.min_reader_version == 4
    here = table.log.snapshot()
    table.log.commit(change.change_rows(Operation.DELETE, here, {"splits/a.split": vector()}))
    needs = table.reopen().snapshot().protocol
    assert (needs.min_reader_version, needs.min_writer_version) == (5, 5)
    assert "deletionVectors" in needs.reader_features


@pytest.mark.parametrize("limit", [50_000, 2])
def test_json_checkpoints_are_written_when_asked_for(make_table, limit):
    options = {"state.format": "json", "checkpoint.interval": "3"}
    table = make_table({**options, "state.entriesPerManifest": str(limit)})
    for n in range(4):
        table.append(f"f{n}")
    listing = table.reopen().reader.listing()
    assert (listing.checkpoints, listing.states) == ((3,), ())
    table.log.store.delete(names.version_file(v) for v in range(4))
    fresh = table.reopen().snapshot()
    assert paths(fresh) == ["f0", "f1", "f2", "f3"]
    assert fresh.protocol == table.log.snapshot().protocol


def test_an_old_table_is_upgraded_when_checkpointed(make_table):
    table = make_table()
    old = Protocol(2, 2)
    first = table.log.reader.commit(0)
    actions = [old if isinstance(a, Protocol) else a for a in first.actions]
    store = table.log.store
    store.put(
        names.version_file(0), codec.encode_actions([a for a in actions if a is not first.info])
    )
    table.log = table.reopen()
    table.append("a", doc_mapping_json="[]")
    assert table.log.snapshot().files()["docMappingJson"].to_pylist() == ["[]"]
    table.log.checkpoint()
    fresh = table.reopen().snapshot()
    assert fresh.protocol.min_reader_version == 4
    assert fresh.files()["docMappingJson"].to_pylist() == [None]
    assert list(fresh.registry.values()) == ["[]"]


def test_equal_mappings_get_one_canonical_name_when_there_are_too_many(make_table):
    table = make_table({"state.schema.renormalizeThreshold": "1"})
    one = '[{"name":"a","type":"i64"},{"name":"b","type":"text"}]'
    two = '[{"type":"text","name":"b"},{"type":"i64","name":"a"}]'
    here = table.log.snapshot()
    configuration = {"docMappingSchema.one": one, "docMappingSchema.two": two}
    table.log.commit(
        change.change_metadata(here, lambda m: dataclasses.replace(m, configuration=configuration))
    )
    table.append("a", doc_mapping_ref="one")
    table.append("b", doc_mapping_ref="two")
    table.log.checkpoint()
    fresh = table.reopen().snapshot()
    (ref,) = set(fresh.files()["docMappingRef"].to_pylist())
    assert json.loads(fresh.registry[ref]) in (json.loads(one), json.loads(two))


@pytest.mark.parametrize("codec", ["zstd", "snappy", "deflate", "none"])
def test_every_compression_is_written_and_read(make_table, codec):
    table = make_table({"state.compression": codec})
    table.append(*(f"f{n}" for n in range(300)))
    table.log.checkpoint()
    name = {"zstd": b"zstandard", "none": b"null"}.get(codec, codec.encode())
    assert name in table.log.store.get(manifests(table)[0])[:8000]
    assert table.reopen().snapshot().num_files == 300


def test_json_checkpoints_keep_their_interval(make_table):
    table = make_table({"state.format": "json", "checkpoint.interval": "10"})
    for n in range(35):
        table.append(f"f{n}")
    assert table.reopen().reader.listing().checkpoints == (10, 20, 30)
    table.log = table.reopen()
    table.append("g")
    assert table.reopen().reader.listing().checkpoints == (10, 20, 30)


def test_the_pointer_moves_to_the_other_format_of_a_version(make_table):
    table = make_table({"checkpoint.enabled": "false"})
    table.append("a")
    for form, name in (("json", "json"), ("avro", "avro-state"), ("json", "json")):
        table.reopen(**{"state.format": form}).checkpoint()
        pointer = table.reopen().reader.pointer()
        assert (pointer.version, pointer.format) == (1, name)
        assert paths(table.reopen().snapshot()) == ["a"]


def test_removals_carry_the_time_of_their_commit(make_table):
    table = make_table()
    table.append("a")
    here = table.log.snapshot()
    table.log.commit(change.overwrite(here, [add("b")]))
    commit = table.reopen().reader.commit(2)
    (remove,) = [a for a in commit.actions if isinstance(a, RemoveFile)]
    assert remove.deletion_timestamp == commit.timestamp


def test_incremental_manifests_are_bounded_too(make_table):
    options = {"state.entriesPerManifest": "10", "checkpoint.interval": "0"}
    table = make_table({**options, "state.compaction.tombstoneThreshold": "1"})
    table.append("a", "b", "c")
    table.log.checkpoint()
    here = table.log.snapshot()
    table.log.commit(change.change_rows(Operation.DELETE, here, {"splits/a.split": vector()}))
    table.append(*(f"f{n}" for n in range(35)))
    table.log.checkpoint()
    found = state(table, 3)
    assert [m.num_entries for m in found.manifests] == [3, 10, 10, 10, 6]
    assert sum(m.supersedes for m in found.manifests) == 1
    assert found.num_files == table.reopen().snapshot().num_files == 38


@pytest.mark.parametrize(("removed", "compacted"), [(29, False), (30, True)])
def test_the_threshold_is_met_exactly(make_table, removed, compacted):
    options = {"checkpoint.interval": "1", "state.compaction.afterMerge": "false"}
    table = make_table({**options, "state.compaction.tombstoneThreshold": "0.29"})
    table.append(*(f"a{n}" for n in range(100)))
    gone = [f"splits/a{n}.split" for n in range(removed)]
    table.log.commit(change.merge_splits(table.log.snapshot(), gone, [add("m")]))
    assert (state(table, 2).tombstones == frozenset()) == compacted


def test_manifests_of_states_that_went_before_them_are_collected(make_table):
    table = make_table({"checkpoint.interval": "0"})
    table.append("a")
    table.log.checkpoint()
    left = f"{names.FOLDER}/{names.state_name(0)}/manifest-1.avro"
    table.log.store.put(left, b"x")
    table.clock.now += 2 * HOUR
    assert left in table.log.clean().manifests
    assert table.log.store.head(left) is None
    assert paths(table.reopen().snapshot()) == ["a"]
