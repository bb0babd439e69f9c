"""Concurrent work on several items: results are in order, and one stop ends all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.stores.servers import silent_server

from indextables.config.settings import resolve
from indextables.errors import IndexTablesError
from indextables.runtime import side_by_side as module
from indextables.runtime.side_by_side import side_by_side
from indextables.storage import open_store

PATIENCE_S = 60


@pytest.fixture
def silent():
    """A store that never answers, and an event that a request sets."""
    with silent_server() as (endpoint, requested):
        options = {"aws.accessKey": "a", "aws.secretKey": "b", "aws.region": "r"}
        options |= {"cloud.readTimeout": "600000", "cloud.retryTimeout": "600000"}
        yield open_store("s3://b/t", resolve(options | {"s3.endpoint": endpoint}), {}), requested


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_come_in_the_order_of_the_items(threads, count):
    assert side_by_side(lambda n: n * n, range(count), threads) == [n * n for n in range(count)]


def test_a_failure_stops_what_others_wait_for(silent):
    store, requested = silent
    ended = []

    def work(path):
        if path == "bad":
            assert requested.wait(PATIENCE_S)
            raise ValueError(path)
        try:
            store.get(path)
        except IndexTablesError as failure:
            ended.append(failure.code)

    with pytest.raises(ValueError, match="bad"):
        side_by_side(work, ["bad", "silent"], 2)
    assert ended == ["INTERRUPTED"]


def test_an_interrupt_between_two_beginnings_stops_the_first(silent, monkeypatch):
    store, requested = silent
    begun = []

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *call):
            if begun:
                assert requested.wait(PATIENCE_S)
                raise KeyboardInterrupt
            begun.append(super().submit(*call))
            return begun[0]

    monkeypatch.setattr(module, "_pool", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        side_by_side(store.get, ["a", "b", "c"], 2)
    with pytest.raises(IndexTablesError, match="INTERRUPTED"):
        begun[0].result(PATIENCE_S)
