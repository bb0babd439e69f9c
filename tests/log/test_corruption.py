"""Damaged files cause an error that names the file, or the right answer, never a wrong one."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
import tracemalloc
import zlib

import pyarrow as pa
import pytest
from tests.log.tables import Table, add

from indextables.engine.manifests import decode_manifests, decode_state_manifest, encode_manifest
from indextables.errors import CorruptError, IndexTablesError, ProtocolError, StorageError
from indextables.log import codec, entries, names
from indextables.log.actions import CommitInfo, Metadata
from indextables.log.compression import deflate
from indextables.storage import open_store


@pytest.fixture
def damaged():
    """A table with a state and later versions; every answer is compared with the expected one."""
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


def test_a_missing_manifest_is_named_when_version_files_are_gone(damaged):
    (path,) = [m.path for m in damaged.log.store.list(names.MANIFESTS)]
    damaged.log.store.delete([path, names.version_file(0)])
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
        b'{"add":{"path":"a","size":9223372036854775808,"modificationTime":1}}',
        b'{"add":{"path":"a","size":1e400,"modificationTime":1}}',
        b'{"add":{"path":"a","size":Infinity,"modificationTime":1}}',
        b'{"add":{"path":"a","size":1,"modificationTime":1,"numMergeOps":2147483648}}',
        b'{"add":{"path":"a","size":1,"modificationTime":253402300800000}}',
        b'{"add":{"path":"\\ud800","size":1,"modificationTime":1}}',
        b'{"add":{"path":"a","size":1,"modificationTime":1,"novel":["\\udc00"]}}',
        b'{"add":{"path":"a","size":1,"modificationTime":1,"novel":NaN}}',
        b'{"add":{"path":"a","size":1,"modificationTime":1,"minValues":{"\\udfff":"x"}}}',
        b'{"mystery":1e999}',
        b'{"commitInfo":{"timestamp":253402300800000}}',
        b'{"commitInfo":{"timestamp":1,"operationParameters":[]}}',
        b'{"commitInfo":{"timestamp":1,"isBlindAppend":"yes"}}',
        b'{"metaData":{"id":"x","schemaString":"{}","format":[]}}',
        b'{"txn":{"appId":"a","version":1e3}}',
        b'{"protocol":{"minReaderVersion":4294967300,"minWriterVersion":1}}',
        b'{"size":' + b"9" * 5000 + b"}",
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
    with pytest.raises(CorruptError, match="more than 536,870,912 bytes of text"):
        codec.decode_actions(bomb, "bomb")


@pytest.mark.parametrize(
    "content",
    [
        b'{"version":Infinity}',
        b'{"version":1e400}',
        b'{"version":-1}',
        b'{"version":1.5}',
        b'{"version":99999999999999999999999}',
        b'{"version":3,"size":1e400}',
        b'{"version":3,"format":7,"stateDir":"../../x"}',
        b'{"version":3,"stateDir":"state-v00000000000000000009"}',
        b'{"version":3,"stateDir":"\\ud800"}',
        b'{"version":3,"parts":{}}',
        b"[]",
        b"null",
        b"[" * 100_000,
        b"\xff",
        b"",
    ],
)
def test_the_pointer_is_only_a_hint(damaged, content):
    right = answer(damaged)
    damaged.log.store.put(names.POINTER, content)
    assert answer(damaged) == right
    damaged.append("c", partition={"n": "8"})
    damaged.log.checkpoint()
    assert answer(damaged)[0] == right[0] + 1


@pytest.mark.parametrize(
    "member",
    ['"createdAt":1e400', '"numFiles":Infinity', '"totalBytes":9223372036854775808',
     '"tombstones":["\\ud800"]', '"schemaRegistry":{"a":1}', '"manifests":{}',
     '"manifests":[{"path":"m.avro","numEntries":1e999}]',
     '"manifests":[{"path":"m.avro","numEntries":1,"partitionBounds":{"n":{"min":1}}}]'],
)  # fmt: skip
def test_a_state_in_json_with_nonsense_is_refused_by_name(damaged, member):
    store = damaged.log.store
    good = {"formatVersion": 1, "stateVersion": 3, "createdAt": 1, "numFiles": 0}
    good |= {"totalBytes": 0, "manifests": []}
    text = json.dumps(good)[:-1] + f",{member}}}"
    path = names.state_files(names.state_name(3))[1]
    store.put(path, text.encode())
    store.delete([names.state_file(3), *(names.version_file(v) for v in range(4))])
    with pytest.raises(CorruptError, match=r"_manifest\.json"):
        damaged.reopen().snapshot()


@pytest.mark.parametrize("schema", ["", "...", "[]", "{}", '{"fields":3}', '{"fields":[{}]}'])
def test_a_schema_that_is_none_is_refused_by_name(table, schema):
    store = table.log.store
    first = table.log.reader.commit(0)
    metadata = next(a for a in first.actions if isinstance(a, Metadata))
    bad = dataclasses.replace(metadata, schema_string=schema)
    store.put(names.version_file(0), codec.encode_actions([bad]))
    log = table.reopen()
    with pytest.raises(CorruptError, match="_transaction_log"):
        _ = log.snapshot().schema
    with pytest.raises(CorruptError, match="_transaction_log"):
        log.checkpoint()


def test_a_missing_or_damaged_manifest_is_made_up_for_by_version_files(damaged):
    (path,) = [m.path for m in damaged.log.store.list(names.MANIFESTS)]
    right = answer(damaged)
    damaged.log.store.delete([path])
    assert answer(damaged) == right
    damaged.log.store.put(path, b"Obj\x01")
    assert answer(damaged) == right
    damaged.log.store.delete([names.version_file(1)])
    with pytest.raises(CorruptError, match=path.rsplit("/", 1)[-1]):
        answer(damaged)


def test_version_files_are_replayed_once_for_a_missing_manifest(damaged):
    (path,) = [m.path for m in damaged.log.store.list(names.MANIFESTS)]
    damaged.log.store.delete([path])
    log = damaged.reopen()
    snapshot = log.snapshot()
    snapshot.files(lambda bounds: True)
    log.store.counters.reset()
    assert snapshot.files(lambda bounds: True).num_rows == 4
    assert log.store.counters.requests["get"] == 0


def gzip_of(pattern, count):
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    chunk = pattern * 10_000
    parts = [stream.compress(chunk) for _ in range(count // 10_000)]
    return b"".join(parts) + stream.flush()


def test_a_flood_of_empty_lines_is_read_without_memory():
    data = gzip_of(b"\n", 50_000_000)
    tracemalloc.start()
    with pytest.raises(CorruptError, match="no action"):
        codec.decode_actions(data, "flood")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 50_000_000


def test_unknown_actions_take_little_more_memory_than_their_text():
    members = ",".join(f'"k{n}":{n}' for n in range(100))
    line = f'{{"mystery":{{{members}}}}}\n'.encode()
    text = line * 20_000
    tracemalloc.start()
    actions = codec.decode_actions(text, "many")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(text)
    assert len(actions) == 20_000
    assert next(iter(actions)).value["k99"] == 99


@pytest.mark.parametrize("line", [b'{"a":1}\n', b'{"txn":{"appId":"a","version":1}}\n'])
def test_a_flood_of_actions_that_are_not_splits_is_refused(line):
    with pytest.raises(CorruptError, match="more than 100,000 actions that are not splits"):
        codec.decode_actions(gzip_of(line, 110_000), "flood")


@pytest.mark.parametrize("line", [b'{"a":1}\n', b'{"remove":{"path":"a"}}\n'])
def test_a_flood_of_small_actions_is_refused(line):
    with pytest.raises(CorruptError, match=r"more than .* actions"):
        codec.decode_actions(gzip_of(line, 200_000), "flood", limit=16 << 20)


def test_the_limit_of_a_log_file_is_a_setting(damaged):
    assert answer(damaged)
    with pytest.raises(CorruptError, match=r"00004\.json.*transaction.maxFileSize"):
        damaged.reopen(**{"transaction.maxFileSize": "300"}).snapshot()


def test_a_manifest_that_inflates_is_refused():
    rows = entries.from_adds([add("a" * 300)]).take(pa.array([0] * 200_000))
    data = encode_manifest(rows, "zstd", 3)
    with pytest.raises(CorruptError, match="200000 entries, its state says 3"):
        decode_manifests([("m.avro", data, 3)], 1)
    with pytest.raises(CorruptError, match="unpacks to more"):
        decode_manifests([("m.avro", data, 200_000)], 1)


def test_a_manifest_beyond_the_memory_is_an_error_not_the_end_of_the_process():
    rows = entries.from_adds([add("a", stats="y" * 3000)]).take(pa.array([0] * 60_000))
    program = """
import resource, sys
from indextables.engine.manifests import decode_manifests
from indextables.errors import CorruptError
data = sys.stdin.buffer.read()
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (8 << 20), resource.RLIM_INFINITY))
try:
    decode_manifests([("m.avro", data, 60_000)], 1)
except CorruptError as failure:
    print("refused", failure.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        input=encode_manifest(rows, "none", 3),
        # the engine's allocator reserves so much memory at once that no limit would apply
        env={**os.environ, "MIMALLOC_ARENA_RESERVE": "0"},
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"refused FILE_CORRUPT"), done.stderr


def test_random_bytes_are_never_a_manifest():
    rng = random.Random(5)
    for size in range(200):
        noise = rng.randbytes(size)
        for data in (noise, b"Obj\x01" + noise):
            with pytest.raises(CorruptError):
                decode_manifests([("m.avro", data, 1)], 1)
            with pytest.raises(CorruptError):
                decode_state_manifest(data, "m.avro")


def test_a_text_is_what_it_was_when_sealed():
    info = CommitInfo("id", 1, "APPEND")
    text = codec.encode_version(info, [])
    (back,) = codec.decode_actions(text, "f")
    assert (back.id, back.operation) == ("id", "APPEND")
    assert list(codec.decode_actions(deflate(text), "f")) == [back]
    assert list(codec.decode_actions(b"\x01\x01" + deflate(text), "f")) == [back]
