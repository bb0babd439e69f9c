"""Logs of other writers, form by form."""

from __future__ import annotations

import dataclasses
import json
import struct
import uuid

import pytest
from tests.log import changes as change
from tests.log.tables import SetClock, Table, add, paths

from indextables.engine.manifests import encode_manifest
from indextables.errors import (
    CorruptError,
    ProtocolError,
    StorageError,
    TableNotFoundError,
    error,
)
from indextables.log import AddFile, Metadata, Protocol, codec, entries, names, open_log
from indextables.log.actions import CommitInfo
from indextables.log.compression import deflate
from indextables.log.state import ManifestInfo, StateManifest
from indextables.log.statefile import encode_state
from indextables.model.types import parse_schema
from indextables.storage import Store


@pytest.fixture
def table():
    table = Table({"checkpoint.enabled": "false"}, ("n",))
    table.append("a", partition={"n": "1"})
    return table


def put_state(table, listed, *, version=2, manifest_at=None, form="avro", **facts):
    """Write a state as another writer might: one manifest with the split `b`."""
    rows = entries.from_adds([add("b", partition={"n": "2"})])
    path = f"{names.FOLDER}/{manifest_at or listed}"
    table.log.store.put(path, encode_manifest(rows, "zstd", 3))
    state = StateManifest(version, 1, 1, 10, (ManifestInfo(listed, 1),), **facts)
    data = encode_state(state, "zstd", 3)
    name = names.state_file(version)
    if form == "json":
        from indextables.engine.manifests import decode_state_manifest

        value = decode_state_manifest(data, name)
        data = json.dumps({k: v for k, v in value.items() if k != "actions"}).encode()
        name = name.removesuffix("avro") + "json"
    table.log.store.put(name, data)


FORMS = {
    "shared": ("manifests/manifest-1.avro", None),
    "normalised": (f"{names.state_name(1)}/manifest-1.avro", None),
    "legacy": ("manifest-1.avro", f"{names.state_name(2)}/manifest-1.avro"),
}


@pytest.mark.parametrize("form", ["avro", "json"])
@pytest.mark.parametrize("kind", FORMS)
def test_a_manifest_is_found_however_its_path_is_written(table, kind, form):
    listed, at = FORMS[kind]
    put_state(table, listed, manifest_at=at, form=form)
    log = table.reopen()
    assert paths(log.snapshot()) == ["b"]
    # a later state of this writer must still find it
    log.commit(change.append(log.snapshot(), [add("c", partition={"n": "3"})]))
    log.checkpoint()
    fresh = table.reopen().snapshot()
    assert fresh.base_version == 3
    assert paths(fresh) == ["b", "c"]


@pytest.mark.parametrize("prefix", ["", "docMappingSchema."])
def test_a_registry_is_read_with_bare_and_prefixed_keys(table, prefix):
    put_state(table, "manifests/m.avro", schema_registry={f"{prefix}abc": "[]"})
    assert table.reopen().snapshot().registry["abc"] == "[]"


@pytest.mark.parametrize("wrapped", [True, False])
def test_metadata_is_read_wrapped_and_bare(table, wrapped):
    value = codec.encode_action(table.log.snapshot().metadata)
    value["metaData"]["description"] = "theirs"
    text = json.dumps(value if wrapped else value["metaData"])
    put_state(table, "manifests/m.avro", metadata=text)
    assert table.reopen().snapshot().metadata.description == "theirs"


def test_metadata_comes_from_version_files_when_a_state_has_none(table):
    put_state(table, "manifests/m.avro")
    assert table.reopen().snapshot().metadata == table.log.snapshot(0).metadata


def test_metadata_comes_from_an_older_state_when_version_files_are_gone(table):
    text = json.dumps(codec.encode_action(table.log.snapshot().metadata))
    put_state(table, "manifests/m.avro", version=2, metadata=text)
    put_state(table, "manifests/m.avro", version=3)
    table.log.store.delete(names.version_file(v) for v in range(2))
    assert table.reopen().snapshot().version == 3


def test_a_state_is_refused_by_name_when_its_number_is_wrong(table):
    put_state(table, "manifests/m.avro")
    store = table.log.store
    store.put(names.state_file(3), store.get(names.state_file(2)))
    store.delete(names.version_file(v) for v in range(2))
    store.delete([names.state_file(2)])
    with pytest.raises(CorruptError, match="state-v00000000000000000003"):
        table.reopen().snapshot()


@pytest.mark.parametrize("version", [6, 0, -1])
def test_a_state_of_a_newer_protocol_is_refused(table, version):
    put_state(table, "manifests/m.avro", protocol_version=version)
    with pytest.raises(ProtocolError, match=str(version)):
        table.reopen().snapshot()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"n": "1"}, {"n": "1"}),
        ({"n": ""}, {"n": ""}),
        ({"n": None}, {}),
        ({}, {}),
        (None, {}),
        ({"n": "__HIVE_DEFAULT_PARTITION__"}, {}),
    ],
)
def test_a_null_partition_is_null_in_every_spelling(table, values, expected):
    line = {"path": "x.split", "partitionValues": values, "size": 1, "modificationTime": 1}
    table.log.store.put(names.version_file(2), json.dumps({"add": line}).encode())
    log = table.reopen()
    row = next(r for r in log.snapshot().files().to_pylist() if r["path"] == "x.split")
    assert dict(row["partitionValues"]) == expected
    log.checkpoint()
    row = next(r for r in table.reopen().snapshot().files().to_pylist() if r["path"] == "x.split")
    assert dict(row["partitionValues"]) == expected


def test_the_word_for_null_is_null_in_a_manifest_too(table):
    bad = AddFile("splits/b.split", {"n": "__HIVE_DEFAULT_PARTITION__"}, 10, 1)
    path = f"{names.FOLDER}/manifests/m.avro"
    put_state(table, "manifests/m.avro")
    table.log.store.put(path, encode_manifest(entries.from_adds([bad]), "none", 1))
    assert table.reopen().snapshot().files()["partitionValues"].to_pylist() == [[]]


def avro_long(number: int) -> bytes:
    number = number * 2 if number >= 0 else -number * 2 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def avro_bytes(data: bytes) -> bytes:
    return avro_long(len(data)) + data


def foreign_manifest() -> bytes:
    """A manifest with one entry of a writer that has additional fields."""
    fields = [
        {"name": "path", "type": "string"},
        {"name": "novel", "type": ["null", "long"]},
        {"name": "nothing", "type": ["null", "string"]},
        {"name": "size", "type": "long"},
        {"name": "extra", "type": ["null", "string"]},
        {"name": "deep", "type": {"type": "array", "items": {"type": "map", "values": "double"}}},
        {"name": "raw", "type": "bytes"},
    ]
    record = avro_bytes(b"splits/b.split") + avro_long(1) + avro_long(7) + avro_long(0)
    record += avro_long(10) + avro_long(1) + avro_bytes(b'{"older":[1]}')
    inner = avro_long(1) + avro_bytes(b"k") + struct.pack("<d", 0.5) + avro_long(0)
    record += avro_long(1) + inner + avro_long(0) + avro_bytes(b"\xff\x00")
    schema = json.dumps({"type": "record", "name": "FileEntry", "fields": fields}).encode()
    header = {b"avro.schema": schema, b"avro.codec": b"null"}
    pairs = b"".join(avro_bytes(k) + avro_bytes(v) for k, v in header.items())
    sync = bytes(range(16))
    block = avro_long(1) + avro_bytes(record) + sync
    return b"Obj\x01" + avro_long(len(header)) + pairs + avro_long(0) + sync + block


def test_fields_of_other_writers_survive_when_a_manifest_is_written_again(table):
    put_state(table, "manifests/m.avro")
    table.log.store.put(f"{names.FOLDER}/manifests/m.avro", foreign_manifest())
    kept = {"novel": 7, "deep": [{"k": 0.5}], "raw": "\u00ff\u0000", "older": [1]}
    log = table.reopen()
    for _ in range(2):
        (row,) = log.snapshot().files().to_pylist()
        assert json.loads(row["extra"]) == kept
        log.checkpoint(compact="test")
        log = table.reopen()
    (change_of,) = entries.to_adds(log.snapshot().files())
    assert dict(change_of.extra) == kept


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../b", "a//b", "./a", "a\nb", ""])
def test_a_path_that_leaves_the_table_is_refused_in_a_manifest(table, path):
    put_state(table, "manifests/m.avro")
    evil = entries.from_adds([AddFile(path, {}, 1, 1)])
    table.log.store.put(f"{names.FOLDER}/manifests/m.avro", encode_manifest(evil, "zstd", 3))
    with pytest.raises(CorruptError, match=r"m\.avro"):
        table.reopen().snapshot().files()


def test_a_table_without_a_protocol_is_of_the_first_kind(table):
    lines = [a for a in table.log.reader.commit(0).actions if isinstance(a, Metadata)]
    table.log.store.put(names.version_file(0), codec.encode_actions(lines))
    assert table.reopen().snapshot().protocol == Protocol(1, 1)


def test_later_lines_win_when_a_path_comes_twice(table):
    log = table.log
    here = log.snapshot()
    other = AddFile("splits/a.split", {"n": "1"}, 99, 1, num_records=1)
    log.store.put(names.version_file(2), codec.encode_actions([other]))
    fresh = table.reopen()
    assert fresh.snapshot().files()["size"].to_pylist() == [99]
    fresh.checkpoint()
    assert table.reopen().snapshot().files()["size"].to_pylist() == [99]
    assert here.version == 1


def test_additions_and_removals_are_taken_in_order(table):
    lines = b"""{"remove":{"path":"splits/a.split"}}

{"add":{"path":"splits/a.split","size":5,"modificationTime":1,"stats":null,"numRecords":null}}
{"remove":{"path":"splits/zzz.split"}}
{"somethingNew":{"a":1}}
"""
    table.log.store.put(names.version_file(2), b"\x01\x01" + deflate(lines))
    snapshot = table.reopen().snapshot()
    assert snapshot.files()["size"].to_pylist() == [5]
    assert snapshot.num_records is None


def test_a_reader_looks_once_when_nothing_changed(table):
    log = table.reopen()
    log.snapshot().files()
    log.store.counters.reset()
    log.snapshot().files()
    assert sum(log.store.counters.requests.values()) <= 2
    assert log.store.counters.requests["get"] == 0


def test_a_table_made_anew_at_the_same_place_is_not_the_one_that_was_held(table):
    held = table.reopen()
    before = held.snapshot()
    store = table.log.store
    for name in store.children(names.FOLDER):
        store.delete([f"{names.FOLDER}/{name}"])
    with pytest.raises(TableNotFoundError):
        held.snapshot()
    open_log(store).create(before.schema, configuration={"made": "again"})
    assert held.snapshot().metadata.configuration == {"made": "again"}


def test_a_new_commit_is_seen_at_once_and_shared_manifests_are_not_read_again(table):
    put_state(table, "manifests/m.avro", version=1)
    log = table.reopen()
    log.snapshot().files()
    log.store.counters.reset()
    other = table.reopen()
    other.commit(change.append(other.snapshot(), [add("z", partition={"n": "9"})]))
    assert paths(log.snapshot()) == ["b", "z"]
    assert log.store.counters.requests["get"] == 1


def test_a_reader_does_not_look_when_it_is_told_to_wait(table):
    log = table.reopen(**{"transaction.cache.expirationSeconds": "60"})
    assert log.snapshot().version == 1
    table.append("b")
    log.store.counters.reset()
    assert log.snapshot().version == 1
    assert not log.store.counters.requests
    table.clock.now += 61_000
    assert log.snapshot().version == 2
    table.append("c")
    log.invalidate()
    assert log.snapshot().version == 3


def test_nothing_is_remembered_when_the_cache_is_off(table):
    put_state(table, "manifests/m.avro")
    log = table.reopen(**{"transaction.cache.enabled": "false"})
    log.snapshot().files()
    log.store.counters.reset()
    log.snapshot().files()
    assert log.store.counters.requests["get"] >= 2


def rewritten(table, version, **protocol):
    """A version file of another writer: its `add` or `metaData` comes first, no `commitInfo`."""
    actions = [a for a in table.log.reader.commit(version).actions if not isinstance(a, CommitInfo)]
    actions = [
        dataclasses.replace(a, **protocol) if protocol and isinstance(a, Protocol) else a
        for a in actions
    ]
    table.log.store.put(names.version_file(version), codec.encode_actions(actions))


def odd_table(column):
    """A table with a column of this name in the statistics and partitions of its first lines."""
    schema = f'{{"type":"struct","fields":[{{"name":"{column}","type":"string"}}]}}'
    table = Table.__new__(Table)
    table.options, table.url, table.clock = {}, f"memory://{uuid.uuid4()}", SetClock()
    table.log = table.reopen()
    table.log.create(parse_schema(schema), (column,), {column: "x"})
    for name in "abc":
        values = {column: f"0123456{name}"}
        table.append(name, partition=values, min_values=values, max_values=values)
    return table


@pytest.mark.parametrize("column", ["checksum", "checkpointId"])
def test_a_column_may_have_the_name_of_a_member_of_the_log(column):
    table = odd_table(column)
    for version in range(4):
        rewritten(table, version)
    assert paths(table.reopen().snapshot()) == ["a", "b", "c"]


@pytest.mark.parametrize("column", ["checksum", "checkpointId"])
@pytest.mark.parametrize("limit", ["50000", "2"])
def test_a_json_checkpoint_is_read_when_a_column_has_the_name_of_a_member(column, limit):
    table = odd_table(column)
    options = {"state.format": "json", "state.entriesPerManifest": limit}
    table.reopen(**options).checkpoint()
    table.log.store.delete(names.version_file(version) for version in range(4))
    assert paths(table.reopen().snapshot()) == ["a", "b", "c"]


def test_a_commit_may_have_a_parameter_named_checksum(table):
    here = table.log.snapshot()
    facts = {"parameters": {"checksum": "00000000"}, "user_metadata": '"checksum":"12345678"}}'}
    table.log.commit(change.append(here, [add("z", partition={"n": "1"})], **facts))
    assert paths(table.reopen().snapshot()) == ["a", "z"]


@pytest.mark.parametrize("at", [0, 1])
def test_features_are_not_forgotten_behind_a_state_without_them(table, at):
    known = Protocol(4, 4, frozenset({"avroState", "zOrder"}), frozenset({"avroState"}))
    rewritten(table, 0, reader_features=frozenset({"zOrder"} if at == 0 else ()))
    if at == 1:
        table.log.store.put(names.version_file(1), codec.encode_actions([known]))
    put_state(table, "manifests/m.avro", metadata=json.dumps(table_metadata(table)))
    with pytest.raises(ProtocolError, match="zOrder"):
        table.reopen().snapshot()


def table_metadata(table):
    actions = table.log.reader.commit(0).actions
    return codec.encode_action(next(a for a in actions if isinstance(a, Metadata)))


def test_features_of_a_writer_are_not_forgotten_behind_a_state(table):
    rewritten(table, 0, writer_features=frozenset({"zOrder"}))
    put_state(table, "manifests/m.avro")
    log = table.reopen()
    assert log.snapshot().protocol.writer_features == {"zOrder"}
    with pytest.raises(ProtocolError, match="zOrder"):
        log.commit(change.append(log.snapshot(), [add("c")]))


def test_a_damaged_version_does_not_hide_a_state_that_leaves_its_features_to_others(table):
    put_state(table, "manifests/m.avro")
    table.log.store.put(names.version_file(1), b"{")
    assert paths(table.reopen().snapshot()) == ["b"]


def test_a_path_listed_twice_is_one_split_and_the_later_entry_counts(table):
    older, newer = (entries.from_adds([add("b", size=size), add(f"x{size}")]) for size in (1, 2))
    for name, rows in (("one", older), ("two", newer)):
        path = f"{names.MANIFESTS}/{name}.avro"
        table.log.store.put(path, encode_manifest(rows, "zstd", 3))
    infos = tuple(ManifestInfo(f"manifests/{name}.avro", 2) for name in ("one", "two"))
    table.log.store.put(
        names.state_file(2), encode_state(StateManifest(2, 1, 4, 40, infos), "zstd", 3)
    )
    log = table.reopen()
    snapshot = log.snapshot()
    assert (paths(snapshot), snapshot.num_files) == (["b", "x1", "x2"], 3)
    sizes = dict(zip(*snapshot.files().select(["path", "size"]).to_pydict().values(), strict=True))
    assert sizes["splits/b.split"] == 2
    log.checkpoint(compact="test")
    assert paths(table.reopen().snapshot()) == ["b", "x1", "x2"]


@pytest.mark.parametrize("folder", ["state-v2", "state-v0002"])
def test_a_state_is_found_where_the_pointer_says(table, folder):
    put_state(table, "m.avro", manifest_at=f"{folder}/m.avro")
    store = table.log.store
    avro, _ = names.state_files(folder)
    store.put(avro, store.get(names.state_file(2)))
    store.delete([names.state_file(2)])
    pointer = {"version": 2, "format": "avro-state", "stateDir": folder}
    store.put(names.POINTER, json.dumps(pointer).encode())
    log = table.reopen()
    assert paths(log.snapshot()) == ["b"]
    log.commit(change.append(log.snapshot(), [add("c", partition={"n": "3"})]))
    log.checkpoint()
    assert paths(table.reopen().snapshot()) == ["b", "c"]


def test_a_manifest_in_a_folder_of_its_state_is_found(table):
    put_state(table, "parts/m.avro", manifest_at=f"{names.state_name(2)}/parts/m.avro")
    assert paths(table.reopen().snapshot()) == ["b"]


def test_a_damaged_state_in_json_is_named_as_it_is(table):
    put_state(table, "manifests/m.avro", form="json", metadata="{}")
    table.log.store.delete(names.version_file(v) for v in range(2))
    with pytest.raises(CorruptError, match=r"_manifest\.json"):
        table.reopen().snapshot()


def test_a_skip_without_a_count_counts_once(table):
    skip = {"path": "a", "skipTimestamp": 1, "reason": "r", "operation": "merge", "skipCount": None}
    table.log.store.put(names.version_file(2), json.dumps({"mergeskip": skip}).encode())
    assert table.reopen().snapshot().change.skips["a"].skip_count == 1


def test_the_facts_of_a_state_are_looked_up_once(table):
    table.append("z")
    put_state(table, "manifests/m.avro")
    log = table.reopen()
    log.snapshot()
    log.store.counters.reset()
    assert log.reader.load().protocol == log.snapshot().protocol
    assert log.store.counters.requests["get"] <= 2


def test_an_older_state_that_the_store_fails_to_read_is_not_passed_over(table, monkeypatch):
    put_state(table, "manifests/m.avro", version=2)
    put_state(table, "manifests/m.avro", version=3)
    table.log.store.delete(names.version_file(v) for v in range(2))
    find, older = Store.find, f"{names.FOLDER}/{names.state_name(2)}/"

    def failing(store, path):
        if path.startswith(older):
            raise error("STORAGE_FAILED", path=path, detail="planted")
        return find(store, path)

    monkeypatch.setattr(Store, "find", failing)
    with pytest.raises(StorageError, match="planted"):
        table.reopen().snapshot()


@pytest.mark.parametrize("ruin", [b"Obj", None])
def test_an_older_state_in_ruins_does_not_hide_a_newer_one(table, ruin):
    text = json.dumps(codec.encode_action(table.log.snapshot().metadata))
    put_state(table, "manifests/m.avro", version=3, metadata=text)
    ruins = f"{names.FOLDER}/{names.state_name(2)}"
    table.log.store.put(f"{ruins}/{'_manifest.avro' if ruin else 'left.avro'}", ruin or b"x")
    table.log.store.delete(names.version_file(v) for v in range(2))
    assert paths(table.reopen().snapshot()) == ["b"]
