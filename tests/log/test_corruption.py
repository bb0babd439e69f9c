"""Damaged files: a clear error that names the file, or the right answer; never a wrong one."""

from __future__ import annotations

import random
import zlib

import pytest
from tests.log.tables import Table

from indextables.engine.manifests import decode_manifests, decode_state_manifest
from indextables.errors import CorruptError, IndexTablesError, ProtocolError, StorageError
from indextables.log import codec, names
from indextables.log.actions import CommitInfo
from indextables.storage import open_store


@pytest.fixture
def damaged():
    """A table with a state and versions after it; every answer is compared with the right one."""
    table = Table({"checkpoint.interval": "0"}, ("n",))
    for n in range(3):
        table.append(
            f"a{n}", partition={"n": str(n)}, min_values={"id": "1"}, doc_mapping_json="[]"
        )
    table.log.checkpoint()
    table.append("b", partition={"n": "7"})
    return table


def answer(table, version=None):
    snapshot = table.reopen().snapshot(version)
    rows = sorted(snapshot.files().to_pylist(), key=lambda row: row["path"])
    return snapshot.version, snapshot.schema, snapshot.protocol, dict(snapshot.registry), rows


def check_every_damage(table, path, version=None, every=1):
    store = open_store(table.url)
    right = answer(table, version)
    data = store.get(path)
    rng = random.Random(path)
    wrong = []
    for at in range(0, len(data), every):
        for kind in ("cut", "flip"):
            bad = data[:at] if kind == "cut" else flipped(data, at, rng)
            store.put(path, bad)
            try:
                if answer(table, version) != right:
                    wrong.append((kind, at, "wrong answer"))
            except (CorruptError, StorageError, ProtocolError) as failure:
                if path.rsplit("/", 1)[-1] not in str(failure):
                    wrong.append((kind, at, str(failure)))
    store.put(path, data)
    assert wrong == []
    assert answer(table, version) == right


def flipped(data, at, rng):
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def test_a_damaged_version_file_is_noticed(damaged):
    check_every_damage(damaged, names.version_file(4))


def test_a_damaged_first_version_is_noticed_when_nothing_covers_it(damaged):
    check_every_damage(damaged, names.version_file(0), version=2)


def test_a_damaged_plain_version_file_is_noticed(damaged):
    damaged.log = damaged.reopen(**{"transaction.compression.enabled": "false"})
    damaged.append("c", partition={"n": "8"})
    check_every_damage(damaged, names.version_file(5))


def test_a_damaged_manifest_is_noticed(damaged):
    (path,) = [m.path for m in damaged.log.store.list(names.MANIFESTS)]
    check_every_damage(damaged, path)


@pytest.mark.parametrize("compression", ["none", "deflate", "snappy"])
def test_a_damaged_manifest_is_noticed_whatever_its_compression(compression):
    table = Table({"state.compression": compression})
    table.append("a", "b")
    table.log.checkpoint()
    (path,) = [m.path for m in table.log.store.list(names.MANIFESTS)]
    check_every_damage(table, path, every=3)


def test_a_damaged_state_leads_to_the_versions_before_it(damaged):
    check_every_damage(damaged, names.state_file(3))


def test_a_damaged_state_is_an_error_when_nothing_else_is_left(damaged):
    damaged.log.store.delete(names.version_file(v) for v in range(4))
    check_every_damage(damaged, names.state_file(3))


def test_a_damaged_pointer_does_no_harm(damaged):
    store = open_store(damaged.url)
    right = answer(damaged)
    data = store.get(names.POINTER)
    for at in range(len(data)):
        for bad in (
            data[:at],
            *(data[:at] + bytes([b]) + data[at + 1 :] for b in (0, 49, 57, 255)),
        ):
            store.put(names.POINTER, bad)
            assert answer(damaged) == right


def test_a_missing_manifest_is_named(damaged):
    (path,) = [m.path for m in damaged.log.store.list(names.MANIFESTS)]
    damaged.log.store.delete([path])
    with pytest.raises(StorageError, match=path.rsplit("/", 1)[-1]):
        answer(damaged)


def test_a_missing_version_is_named(damaged):
    damaged.append("c")
    damaged.log.store.delete([names.version_file(4)])
    with pytest.raises(IndexTablesError, match="available: 0 to 3"):
        answer(damaged)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n\n",
        b"[]",
        b"null",
        b"{}",
        b'{"add":{},"remove":{}}',
        b'{"add":[]}',
        b'{"add":{"path":"a.split"}}',
        b'{"add":{"path":"../a.split","partitionValues":{},"size":1,"modificationTime":1}}',
        b'{"add":{"path":"/etc/passwd","partitionValues":{},"size":1,"modificationTime":1}}',
        b'{"add":{"path":"a.split","partitionValues":{},"size":"1","modificationTime":1}}',
        b'{"add":{"path":"a.split","partitionValues":{"x":1},"size":1,"modificationTime":1}}',
        b'{"remove":{"path":"a/../../b"}}',
        b'{"protocol":{"minReaderVersion":true,"minWriterVersion":1}}',
        b"[" * 100_000,
        b'{"metaData":{"id":"x"}}',
        b"\x1f\x8b\x08",
        b"\xff\xfe",
    ],
)
def test_a_version_file_with_nonsense_is_refused_by_name(damaged, line):
    damaged.log.store.put(names.version_file(5), line)
    with pytest.raises(CorruptError, match=r"00005\.json"):
        damaged.reopen().snapshot()


def test_a_bomb_is_refused():
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    chunk = b" " * (1 << 20)
    bomb = b"".join(stream.compress(chunk) for _ in range(600)) + stream.flush()
    with pytest.raises(CorruptError, match="512 MB"):
        codec.decode_actions(bomb, "bomb")


def test_random_bytes_are_never_a_manifest():
    rng = random.Random(5)
    for size in range(200):
        noise = rng.randbytes(size)
        for data in (noise, b"Obj\x01" + noise):
            with pytest.raises(CorruptError):
                decode_manifests([("m.avro", data)], 1)
            with pytest.raises(CorruptError):
                decode_state_manifest(data, "m.avro")


def test_a_text_is_what_it_was_when_sealed():
    info = CommitInfo("id", 1, "APPEND")
    text = codec.encode_version(info, [])
    (back,) = codec.decode_actions(text, "f")
    assert (back.id, back.operation) == ("id", "APPEND")
    assert codec.decode_actions(codec.deflate(text), "f") == [back]
    assert codec.decode_actions(b"\x01\x01" + codec.deflate(text), "f") == [back]
