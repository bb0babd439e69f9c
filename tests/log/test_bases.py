"""States and checkpoints that cannot stand alone: clean-ups keep what they need to be read."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pytest
from tests.log import changes as change
from tests.log.tables import HOUR, Table, add, paths

from indextables.commands.describe_transaction_log import run_describe_transaction_log
from indextables.commands.truncate_time_travel import run_truncate
from indextables.config.settings import resolve
from indextables.engine.manifests import encode_manifest
from indextables.errors import InvalidError
from indextables.log import codec, names, registry
from indextables.log.actions import Metadata
from indextables.log.retention import Policy
from indextables.log.state import ManifestInfo, StateManifest
from indextables.log.statefile import encode_state
from indextables.read.table import OpenTable

MAPPING = '[{"name":"id","type":"i64"}]'
REF = registry.schema_hash(MAPPING)
NOW = Policy(0, 0, 1, 0)


def without_manifest(table):
    """A state whose manifest is gone."""
    table.log.checkpoint()
    state = table.log.reader.states.read(3)
    table.log.store.delete([f"{names.FOLDER}/{state.manifests[0].path}"])


def without_metadata(table):
    """A state of a writer that leaves the metadata to version files."""
    table.log.checkpoint()
    state = table.log.reader.states.read(3)
    data = encode_state(dataclasses.replace(state, metadata=None, actions=()), "zstd", 3)
    table.log.store.put(names.state_file(3), data)


def without_part(table):
    """A checkpoint of several parts, one of which is gone."""
    options = {"state.format": "json", "state.entriesPerManifest": "2"}
    table.reopen(**options).checkpoint()
    head = json.loads(table.log.store.get(names.checkpoint_file(3)))
    table.log.store.delete([f"{names.FOLDER}/{head['parts'][1]}"])


DAMAGE = (without_manifest, without_metadata, without_part)


@pytest.fixture
def table():
    table = Table({"checkpoint.enabled": "false"})
    for name in "abc":
        table.append(name)
    return table


@pytest.mark.parametrize("damage", DAMAGE)
def test_version_files_stay_when_their_checkpoint_cannot_stand_alone(table, damage):
    damage(table)
    table.append("d")
    table.clock.now += 99 * HOUR
    for _ in range(2):
        table.reopen().clean(NOW)
    assert paths(table.reopen().snapshot()) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_older_checkpoint_serves_when_the_newest_cannot_stand_alone(table, damage):
    damage(table)
    table.append("d", "e")
    table.reopen().checkpoint(compact="test")
    table.append("f")
    table.clock.now += 99 * HOUR
    table.reopen().clean(NOW)
    assert table.reopen().reader.listing().versions == (5,)
    assert paths(table.reopen().snapshot()) == ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_truncating_leaves_a_state_that_stands_alone(table, damage):
    damage(table)
    log = table.reopen()
    (row,) = run_truncate(OpenTable(log, log.snapshot(), resolve({})))
    fresh = table.reopen()
    assert row["checkpoint_version"] == fresh.snapshot().version == fresh.snapshot().base_version
    assert fresh.reader.listing().versions[:1] in [(), (row["checkpoint_version"],)]
    assert fresh.reader.has_whole_state(fresh.snapshot().version)
    assert paths(fresh.snapshot()) == ["a", "b", "c"]


def test_a_damaged_state_is_compacted_by_the_next_checkpoint(table):
    without_manifest(table)
    table.append("d")
    log = table.reopen()
    assert paths(log.snapshot()) == ["a", "b", "c", "d"]
    assert "cannot be read" in log.checkpoint().compacted
    assert table.reopen().reader.has_whole_state(4)


def test_manifests_stay_when_a_state_cannot_be_read(table):
    table.log.checkpoint()
    table.append("d")
    table.log.checkpoint(compact="test")
    table.append("e")
    table.log.checkpoint(compact="test")
    table.log.store.put(names.state_file(4), b"Obj\x01 nonsense")
    table.clock.now += 2 * HOUR
    done = table.reopen().clean(dataclasses.replace(NOW, state_hours=9))
    assert done.versions
    assert not done.manifests
    assert paths(table.reopen().snapshot()) == ["a", "b", "c", "d", "e"]


def test_a_checkpoint_serves_when_the_state_of_its_version_is_damaged(table):
    table.log.checkpoint()
    table.reopen(**{"state.format": "json"}).checkpoint()
    table.log.store.put(names.state_file(3), b"Obj\x01 nonsense")
    table.log.store.delete([names.version_file(version) for version in range(4)])
    assert paths(table.reopen().snapshot()) == ["a", "b", "c"]


@pytest.fixture
def with_leftover(tmp_path):
    """Version files from 3 on, a checkpoint of 3, and the folder of a state that is gone."""
    table = Table({"checkpoint.enabled": "false"}, url=str(tmp_path / "t"))
    table.start = table.clock.now
    for name in "abcd":
        table.clock.now += HOUR
        table.append(name)
        if name == "c":
            table.log.checkpoint()
    table.log.store.delete([names.version_file(version) for version in range(4)])
    table.log.store.put(f"{names.FOLDER}/{names.state_name(1)}/manifest-1.avro", b"kept by others")
    return table


def test_the_folder_of_a_state_is_no_version(with_leftover):
    with pytest.raises(InvalidError, match="available: 3 to 4"):
        with_leftover.reopen().snapshot(1)
    with pytest.raises(InvalidError, match="oldest available version is from"):
        with_leftover.reopen().snapshot(timestamp_ms=with_leftover.start)
    now = with_leftover.clock.now
    log = with_leftover.reopen()
    assert log.snapshot(timestamp_ms=now).version == 4
    assert [entry.version for entry in log.history()] == [4, 3]
    table = OpenTable(log, log.snapshot(), resolve({}))
    rows = run_describe_transaction_log(table, include_all=True)
    assert {row["version"] for row in rows} == {3, 4}


@pytest.mark.parametrize("form", ["state in JSON", "checkpoint in JSON"])
def test_a_version_without_its_file_has_a_time(form):
    table = Table({"checkpoint.enabled": "false"})
    for name in "abc":
        table.append(name)
    if form == "checkpoint in JSON":
        table.reopen(**{"state.format": "json"}).checkpoint()
    else:
        value = {"formatVersion": 1, "stateVersion": 3, "createdAt": table.clock.now, "numFiles": 0}
        value |= {"totalBytes": 0, "manifests": []}
        path = names.state_file(3).removesuffix("avro") + "json"
        table.log.store.put(path, json.dumps(value).encode())
    table.log.store.delete([names.version_file(3)])
    log = table.reopen()
    assert [entry.version for entry in log.history()] == [3, 2, 1, 0]
    later = table.clock.now + HOUR
    assert log.snapshot(timestamp_ms=later).version == 3


@pytest.fixture
def foreign():
    """A table whose document mapping is in the registry of a state alone."""
    table = Table({"checkpoint.enabled": "false"})
    table.append("a")
    table.append("b")
    table.log.checkpoint()
    state = table.log.reader.states.read(2)
    (info,) = state.manifests
    rows = table.log.reader.manifests.read([info])[0]
    at = rows.schema.get_field_index("docMappingRef")
    refs = pa.array([REF] * rows.num_rows, pa.string())
    rows = rows.set_column(at, rows.schema.field(at), refs)
    path = f"{names.FOLDER}/manifests/manifest-f.avro"
    table.log.store.put(path, encode_manifest(rows, "zstd", 3))
    listed = (ManifestInfo("manifests/manifest-f.avro", rows.num_rows),)
    state = StateManifest(
        2, 1, rows.num_rows, 20, listed, schema_registry={REF: MAPPING}, metadata=state.metadata
    )
    table.log.store.put(names.state_file(2), encode_state(state, "zstd", 3))
    table.log = table.reopen()
    return table


def mappings(actions):
    """The mappings in the metadata of a log file."""
    found = [action for action in actions if isinstance(action, Metadata)]
    return registry.from_configuration(found[-1].configuration) if found else {}


def test_a_checkpoint_in_json_has_the_mappings_of_a_state(foreign):
    foreign.reopen(**{"state.format": "json"}).checkpoint()
    (actions,) = foreign.log.reader._checkpoint(2)
    assert mappings(actions) == {REF: MAPPING}


@pytest.mark.parametrize("form", ["doc_mapping_json", "doc_mapping_ref"])
def test_a_commit_names_the_mapping_that_only_a_state_has(foreign, form):
    given = {"doc_mapping_json": MAPPING, "doc_mapping_ref": REF}
    foreign.append("c", **{form: given[form]})
    assert mappings(foreign.log.reader.commit(3).actions) == {REF: MAPPING}
    foreign.append("d", **{form: given[form]})
    assert mappings(foreign.log.reader.commit(4).actions) == {}


def test_a_restored_split_brings_its_mapping(foreign):
    here = foreign.log.snapshot()
    foreign.log.commit(change.overwrite(here, [add("c")]))
    # a checkpoint by a writer that knows nothing of the registry
    foreign.reopen(**{"state.format": "json"}).checkpoint()
    path = names.checkpoint_file(3)
    text = foreign.log.reader._checkpoint(3)[0]
    plain = [
        dataclasses.replace(each, configuration={}) if isinstance(each, Metadata) else each
        for each in text
    ]
    foreign.log.store.put(path, codec.encode_actions(plain))
    log = foreign.reopen()
    assert REF not in log.snapshot().registry
    log.commit(change.restore(log.snapshot(), log.snapshot(2)))
    assert log.snapshot().registry[REF] == MAPPING
    assert set(log.snapshot().files()["docMappingRef"].to_pylist()) == {REF}
