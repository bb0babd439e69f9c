"""The number of requests to a store, which is the main cost of a query there."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from tests.stores.conftest import _numbers
from tests.stores.proxy import PASS, Request
from tests.stores.tables import make_table

import indextables
from indextables.config.settings import resolve
from indextables.engine.cache import clear_memory
from indextables.engine.split import Split
from indextables.engine.store import open_store as open_native
from indextables.engine.writer import SplitWriter
from indextables.log import open_log
from indextables.log.transaction import Operation, Transaction
from indextables.runtime import handles
from indextables.storage import open_store

SPLITS, EACH = 100, 200
PER_SPLIT = 5
PATIENCE_S = 60


@pytest.fixture(scope="module")
def table(minio_server, s3) -> str:
    url = f"{s3.root}/opened-{next(_numbers)}"
    return make_table(url, s3.settings, splits=SPLITS, each=EACH)


@pytest.fixture
def options(s3, proxy):
    handles.flush()
    clear_memory()
    # a request that a busy machine delays must not be counted twice
    exact = {"cache.disk.enabled": "false", "cloud.hedgeAfter": "0"}
    yield s3.options | {"s3.endpoint": proxy.endpoint} | exact
    handles.flush()


def of_splits(proxy):
    return [r for r in proxy.requests if ".split" in r.path]


def of_log(proxy):
    return [r for r in proxy.requests if ".split" not in r.path]


def test_few_requests_are_made_when_pruning_leaves_one_split(table, options, proxy):
    found = indextables.open(table, options=options).scan(["id", "message"], "id = 4242")
    assert found.column("message").to_pylist() == ["request 4242 of user71 is done"]
    opened = {r.path.split("?")[0] for r in of_splits(proxy)}
    assert len(opened) == 1
    assert len(of_splits(proxy)) <= PER_SPLIT
    # look for a checkpoint, list, read the two versions, check that the newest is unchanged
    assert len(of_log(proxy)) <= 5


def test_few_requests_are_made_when_a_partition_is_chosen(table, options, proxy):
    found = indextables.open(table, options=options).scan(["id"], "day = 7 AND level = 'warn'")
    assert found.num_rows == len([i for i in range(7 * EACH, 8 * EACH) if i % 3 == 1])
    assert len({r.path.split("?")[0] for r in of_splits(proxy)}) == 1
    assert len(of_splits(proxy)) <= PER_SPLIT


def test_few_requests_are_made_for_each_split_when_a_term_is_in_all(table, options, proxy):
    found = indextables.open(table, options=options).search("user7", ["id"], limit=10_000)
    assert found.num_rows == len([i for i in range(SPLITS * EACH) if i % 97 == 7])
    by_split: dict[str, int] = {}
    for request in of_splits(proxy):
        path = request.path.split("?")[0]
        by_split[path] = by_split.get(path, 0) + 1
    assert len(by_split) == SPLITS
    assert max(by_split.values()) <= PER_SPLIT


@pytest.mark.parametrize(
    ("where", "columns"), [("level = 'warn'", ["id"]), ("id = 4242", ["id", "level", "message"])]
)
def test_few_requests_are_made_when_splits_are_too_large_to_be_fetched_whole(
    s3, options, proxy, where, columns
):
    url = f"{s3.root}/opened-{next(_numbers)}"
    large = make_table(url, s3.settings, splits=1, each=5_000)
    table = indextables.open(large, options=options)
    assert table.size_bytes > 128 << 10
    proxy.requests.clear()
    assert table.scan(columns, where).num_rows > 0
    assert 1 < len(of_splits(proxy)) <= PER_SPLIT


def test_few_requests_are_made_when_the_best_rows_of_a_large_split_are_wanted(s3, options, proxy):
    for each, columns in [(5_000, ["id"]), (5_000, None), (20_000, ["id"])]:
        url = f"{s3.root}/opened-{next(_numbers)}"
        large = make_table(url, s3.settings, splits=1, each=each)
        table = indextables.open(large, options=options)
        proxy.requests.clear()
        assert table.search("user7", columns, limit=10).num_rows == 10
        assert 1 < len(of_splits(proxy)) <= PER_SPLIT


def test_eight_requests_run_at_a_time_when_rows_are_far_apart(s3, options, proxy):
    schema = pa.schema([("id", pa.int64()), ("blob", pa.binary())])
    store = open_store(f"{s3.root}/opened-{next(_numbers)}", s3.settings)
    writer = SplitWriter(schema, [{"name": "blob", "indexed": False}])
    blobs = [os.urandom(20_000) for _ in range(300)]
    writer.write(pa.record_batch({"id": list(range(300)), "blob": blobs}, schema=schema))
    info = writer.finish(open_native(*store.native()), "far.split")
    apart = resolve(options | {"read.batchOptimization.gapTolerance": "1K"})
    native = open_native(*open_store(store.url, apart).native())
    split = Split(native, "far.split", (info.footer_start, info.footer_end), schema=schema)
    # everything that all reads need is known by then
    assert split.table({"type": "set", "field": "id", "values": [1]}, schema).num_rows == 1
    proxy.gather(8, "far.split")
    proxy.requests.clear()
    proxy.delay_seconds = 0.02
    wanted = list(range(0, 300, 5))
    found = split.table({"type": "set", "field": "id", "values": wanted}, schema)
    assert found["blob"].to_pylist() == [blobs[i] for i in wanted]
    assert len(of_splits(proxy)) >= len(wanted)
    assert proxy.most_at_once == 8


def test_requests_of_several_splits_run_together_when_a_query_touches_them(table, options, proxy):
    proxy.gather(16, ".split")
    indextables.open(table, options=options).search("user7", ["id"], limit=10_000)
    assert proxy.most_at_once >= 16


def test_a_look_for_newer_versions_is_one_request(table, options, proxy):
    log = open_log(open_store(table, resolve(options, {}, {})), resolve(options, {}, {}))
    version = log.snapshot().version
    proxy.requests.clear()
    assert log.snapshot().version == version
    assert len(proxy.requests) == 1


def test_many_who_look_for_newer_versions_at_once_share_two_requests(table, options, proxy):
    log = open_log(open_store(table, resolve(options, {}, {})), resolve(options, {}, {}))
    version = log.snapshot().version
    proxy.requests.clear()
    begun, all_wait = threading.Event(), threading.Event()

    def until_all_wait(_: Request) -> str:
        begun.set()
        all_wait.wait(PATIENCE_S)
        return PASS

    proxy.rule = until_all_wait
    with ThreadPoolExecutor(16) as pool:
        looks = [pool.submit(log.snapshot)]
        assert begun.wait(PATIENCE_S)
        looks += [pool.submit(log.snapshot) for _ in range(15)]
        end = time.monotonic() + PATIENCE_S
        while log._newest._look.waiting < 15 and time.monotonic() < end:
            time.sleep(0.005)
        all_wait.set()
        assert {look.result().version for look in looks} == {version}
    # one for the first caller, and one for all callers that arrived during it
    assert len(proxy.requests) == 2


def test_a_look_shared_by_many_sees_what_was_committed_before_it(s3, options, proxy):
    settings = resolve(options, {}, {})
    url = make_table(f"{s3.root}/shared-{next(_numbers)}", s3.settings, splits=1)
    ours, theirs = (open_log(open_store(url, settings), settings) for _ in range(2))
    ours.snapshot()
    proxy.delay_seconds = 0.05
    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            early = [pool.submit(ours.snapshot) for _ in range(4)]
            mine = Transaction(Operation.APPEND, theirs.snapshot().version)
            committed = theirs.commit(mine).version
            late = [pool.submit(ours.snapshot) for _ in range(4)]
            assert {each.result().version for each in late} == {committed}
            assert all(each.result().version <= committed for each in early)
