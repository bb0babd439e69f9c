"""A real server behind a proxy that throttles, cuts connections and loses answers."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from tests.stores.conftest import BUCKET, Place, s3_place
from tests.stores.proxy import CUT_AFTER, CUT_BEFORE, DENY, PASS, SLOW_DOWN, times
from tests.stores.tables import make_table
from tests.stores.test_engine import incomplete_uploads, rows, write
from tests.stores.test_log import SCHEMA, add

from indextables.commands.rebuild import find_splits, plan_rebuild
from indextables.config.settings import resolve
from indextables.engine.merge import MergeInput, merge_splits
from indextables.engine.store import open_store as open_native
from indextables.engine.writer import SplitWriter
from indextables.errors import StorageError
from indextables.log import Operation, Transaction, open_log
from indextables.storage import open_store


@pytest.fixture
def place(proxy, minio_server) -> Place:
    direct = s3_place(minio_server)
    return Place("s3", direct.root, direct.options | {"s3.endpoint": proxy.endpoint}, minio_server)


@pytest.mark.parametrize("action", [SLOW_DOWN, CUT_BEFORE])
def test_requests_are_repeated_when_throttled_or_cut_off(place, proxy, action):
    store = place.table()
    store.put("a", b"12345")
    calls = {
        "GET": lambda: store.get("a") == b"12345" and store.get_range("a", 1, 3) == b"23",
        "HEAD": lambda: store.head("a").size == 5,
        "PUT": lambda: store.put("a", b"12345"),
    }
    for method, call in calls.items():
        proxy.requests.clear()
        proxy.rule = times(2, action, method)
        assert call()
        assert len(proxy.received(method)) >= 3
    proxy.rule = times(2, action, "GET")
    assert [meta.path for meta in store.list("")] == ["a"]


@pytest.mark.parametrize("action", [SLOW_DOWN, CUT_BEFORE])
def test_the_engine_repeats_too_when_throttled_or_cut_off(place, proxy, action):
    store = place.table()
    proxy.rule = times(2, action, "PUT")
    info = write(store, "splits/a.split", rows(0, 10))
    assert store.head("splits/a.split").size == info.size


def test_a_refused_condition_is_final_when_the_object_exists(place, proxy):
    store = place.table()
    assert store.put("v/0", b"a", if_absent=True)
    proxy.requests.clear()
    assert not store.put("v/0", b"b", if_absent=True)
    assert len(proxy.requests) == 1
    assert {k.lower(): v for k, v in proxy.requests[0].headers.items()}["if-none-match"] == "*"


def test_the_error_tells_and_the_request_is_not_repeated_when_access_is_denied(place, proxy):
    store = place.table()
    proxy.rule = times(9, DENY)
    with pytest.raises(StorageError) as caught:
        store.put("a", b"")
    assert caught.value.context["refused"]
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("action", [CUT_AFTER, CUT_BEFORE, SLOW_DOWN])
def test_a_commit_is_there_once_when_its_answer_is_lost(place, proxy, action):
    log = open_log(place.table(), place.settings)
    log.create(SCHEMA)
    for number in range(1, 4):
        proxy.rule = times(1, action, "PUT", f"{number:020d}.json")
        done = log.commit(Transaction(Operation.APPEND, number - 1, (add(f"s{number}"),)))
        assert done.version == number
    proxy.rule = times(0, action)
    fresh = open_log(place.again(log.store), place.settings).snapshot()
    assert fresh.version == 3
    assert sorted(fresh.files()["path"].to_pylist()) == [f"splits/s{i}.split" for i in (1, 2, 3)]


PARTS = {"s3.multipartThreshold": "1M", "s3.partSize": "5M", "s3.maxConcurrency": "2"}
BLOB = pa.schema([("blob", pa.binary())])


def large_writer(folder, megabytes=12):
    fields = [{"name": "blob", "indexed": False}]
    writer = SplitWriter(BLOB, fields, {"temp_dir": str(folder), "store_compression": "none"})
    for _ in range(megabytes):
        writer.write(pa.record_batch({"blob": [os.urandom(1 << 20)]}, schema=BLOB))
    return writer


def bytes_in(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("method", "part"), [("POST", "?uploads"), ("PUT", "partNumber=2"), ("POST", "?uploadId=")]
)
def test_parts_are_taken_back_when_an_upload_fails(place, proxy, tmp_path, method, part):
    store = place.table(**PARTS)
    writer = large_writer(tmp_path)
    proxy.rule = times(1, DENY, method, part)
    with pytest.raises(StorageError):
        writer.finish(open_native(*store.native()), "splits/large.split")
    assert proxy.received(method, part)
    assert bool(proxy.received("DELETE", "uploadId=")) == (part != "?uploads")
    assert incomplete_uploads(place.server) == 0
    assert store.head("splits/large.split") is None
    assert bytes_in(tmp_path) == 0


def test_a_split_is_packed_into_its_upload_when_it_is_large(place, proxy, tmp_path):
    """There is no packed copy on local disk, and only some parts are in memory."""
    store = place.table(**PARTS)
    writer = large_writer(tmp_path, megabytes=24)
    held = []

    def look(request):
        held.append(bytes_in(tmp_path))
        return PASS

    proxy.rule = look
    proxy.gather(2, "partNumber=")
    proxy.delay_seconds = 0.05
    info = writer.finish(open_native(*store.native()), "splits/large.split")
    assert info.size > 24 << 20
    assert len(proxy.received("PUT", "partNumber=")) == 5
    assert proxy.most_at_once == 2
    assert max(held) < 1.1 * info.size
    assert bytes_in(tmp_path) == 0


def test_no_part_stays_when_a_merge_cannot_send_its_split(place, proxy, tmp_path):
    store = place.table(**PARTS)
    native = open_native(*store.native())
    paths = ["splits/a.split", "splits/b.split"]
    for path in paths:
        large_writer(tmp_path, megabytes=6).finish(native, path)
    inputs, options = [MergeInput(path) for path in paths], {"temp_dir": str(tmp_path)}
    proxy.rule = times(1, DENY, "PUT", "partNumber=2")
    with pytest.raises(StorageError):
        merge_splits(inputs, native, "splits/merged.split", options=options)
    assert incomplete_uploads(place.server) == 0
    assert store.head("splits/merged.split") is None
    merged = merge_splits(inputs, native, "splits/merged.split", options=options)
    assert merged.split.num_records == 12
    assert bytes_in(tmp_path) == 0


def test_a_certificate_is_verified_when_the_endpoint_is_encrypted(tls_minio):
    """A server with a self-signed certificate is rejected."""
    place = s3_place(tls_minio)
    options = place.options | {"s3.endpoint": tls_minio.endpoint, "cloud.maxRetries": "0"}
    store = Place("s3", f"s3://{BUCKET}", options).table()
    with pytest.raises(StorageError):
        store.put("a", b"")
    with pytest.raises(StorageError):
        write(store, "splits/a.split", rows(0, 1))


def test_a_repair_leaves_out_no_split_that_the_store_refuses(place, proxy):
    options = place.options | {"cloud.maxRetries": "0"}
    url = make_table(f"{place.root}/repaired", place.settings, splits=3, each=20)
    store = open_store(url, resolve(options))
    splits = find_splits(store)
    proxy.rule = times(1, SLOW_DOWN, "GET", "split-1.split")
    with pytest.raises(StorageError, match="split-1"):
        plan_rebuild(store, splits, place.settings)
    whole = plan_rebuild(store, splits, place.settings)
    assert [add.path for add in whole.adds] == [meta.path for meta in splits]
