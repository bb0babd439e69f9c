"""Commits in object stores: many committers, and servers that die."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from tests.stores.conftest import s3_place

from indextables.engine.store import open_store as open_native
from indextables.engine.writer import SplitWriter
from indextables.errors import CommitUnknownError, StorageError
from indextables.log import AddFile, Operation, Transaction, open_log
from indextables.model.types import parse_schema
from indextables.storage import open_store

SCHEMA = parse_schema(
    '{"type":"struct","fields":[{"name":"id","type":"long"},{"name":"message","type":"string"}]}'
)
COMMITTERS = 8


def add(name: str) -> AddFile:
    return AddFile(f"splits/{name}.split", {}, 10, 1)


def append(log, name):
    newest = log.snapshot().version
    return log.commit(Transaction(Operation.APPEND, newest, (add(name),))).version


def paths(log):
    return sorted(log.snapshot().files()["path"].to_pylist())


def test_a_table_is_read_back_when_committed(place):
    log = open_log(place.table(), place.settings)
    log.create(SCHEMA)
    for number in range(12):
        append(log, f"s{number}")
    fresh = open_log(place.again(log.store), place.settings)
    assert fresh.snapshot().version == 12
    assert paths(fresh) == sorted(f"splits/s{number}.split" for number in range(12))
    assert fresh.snapshot(5).num_files == 5


def test_every_commit_of_another_is_seen_when_a_log_stays_open(place):
    log = open_log(place.table(), place.settings)
    log.create(SCHEMA)
    reader = open_log(place.again(log.store), place.settings)
    assert reader.snapshot().version == 0
    for version in range(1, 4):
        append(log, f"s{version}")
        assert reader.snapshot().version == version


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_no_version_is_lost_or_doubled_when_eight_commit_at_once(kind, request):
    place = request.getfixturevalue(kind)
    each = 6 if kind == "s3" else 3
    store = place.table()
    open_log(store, place.settings).create(SCHEMA)

    def commit(number):
        log = open_log(place.again(store), place.settings)
        return [(append(log, f"c{number}-{i}"), f"splits/c{number}-{i}.split") for i in range(each)]

    with ThreadPoolExecutor(COMMITTERS) as pool:
        acknowledged = [pair for pairs in pool.map(commit, range(COMMITTERS)) for pair in pairs]
    versions = sorted(version for version, _ in acknowledged)
    assert versions == list(range(1, COMMITTERS * each + 1))
    log = open_log(place.again(store), place.settings)
    assert log.snapshot().version == versions[-1]
    assert paths(log) == sorted(path for _, path in acknowledged)
    for version, path in acknowledged[::5]:
        assert path in log.snapshot(version).files()["path"].to_pylist()
        assert path not in log.snapshot(version - 1).files()["path"].to_pylist()


def test_no_acknowledged_commit_is_lost_when_the_server_dies_and_comes_back(own_minio):
    place = s3_place(own_minio)
    store = place.table()
    open_log(store, place.settings).create(SCHEMA)
    acknowledged: list[str] = []
    unsure: list[str] = []
    progress = threading.Semaphore(0)
    done = threading.Event()

    def commit(number):
        log = open_log(place.again(store), place.settings)
        attempt = 0
        while not done.is_set():
            attempt += 1
            name = f"c{number}-{attempt}"
            try:
                append(log, name)
            except (CommitUnknownError, StorageError):
                unsure.append(f"splits/{name}.split")
            else:
                acknowledged.append(f"splits/{name}.split")
                progress.release()

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(commit, number) for number in range(3)]
        try:
            for _ in range(2):
                for _ in range(5):
                    assert progress.acquire(timeout=60)
                own_minio.kill()
                own_minio.start()
            for _ in range(5):
                assert progress.acquire(timeout=60)
        finally:
            done.set()
        for each in running:
            each.result()
    found = paths(open_log(place.again(store), place.settings))
    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)
    assert set(found) <= set(acknowledged) | set(unsure)


def test_a_split_is_whole_or_absent_when_the_server_dies_while_it_is_sent(own_minio):
    place = s3_place(own_minio)
    store = place.table(**{"s3.multipartThreshold": "1M", "s3.partSize": "5M"})
    log = open_log(store, place.settings)
    log.create(SCHEMA)
    append(log, "before")
    schema = pa.schema([("blob", pa.binary())])
    block = pa.record_batch({"blob": [os.urandom(1 << 20)]}, schema=schema)

    def send(path):
        writer = SplitWriter(schema, [{"name": "blob", "indexed": False}])
        for _ in range(40):
            writer.write(block)
        return writer.finish(open_native(*store.native()), path)

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send, "splits/a.split")
        # the server stores each part as a file when it arrives
        staging = own_minio.folder / "data" / ".minio.sys" / "multipart"
        while not sending.done() and not any(staging.rglob("part.*")):
            threading.Event().wait(0.005)
        own_minio.kill()
        own_minio.start()
        try:
            info = sending.result()
        except StorageError:
            info = None
    there = open_store(store.url, place.settings).head("splits/a.split")
    assert (there and there.size) == (info and info.size)
    fresh = open_log(place.again(store), place.settings)
    assert paths(fresh) == ["splits/before.split"]
    again = send("splits/b.split")
    assert store.head("splits/b.split").size == again.size
    append(fresh, "b")
    assert paths(fresh) == ["splits/b.split", "splits/before.split"]
