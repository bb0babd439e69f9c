"""The cache class: limits, counters, and concurrent threads."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from indextables.runtime.cache import Cache, CacheCounts


def test_the_least_recently_used_entry_is_evicted():
    cache: Cache[str, int] = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
    assert cache.counts() == CacheCounts(hits=3, misses=1)


def test_a_limit_can_be_a_weight():
    cache: Cache[str, bytes] = Cache(10, len)
    cache.put("a", b"12345")
    cache.put("b", b"12345")
    cache.put("a", b"1")
    assert len(cache) == 2
    cache.put("c", b"12345")
    assert cache.values() == [b"1", b"12345"]
    cache.put("huge", b"x" * 11)
    assert cache.get("huge") is None
    assert len(cache) == 2


def test_a_value_that_became_too_heavy_does_not_leave_its_predecessor():
    cache: Cache[str, bytes] = Cache(10, len)
    cache.put("a", b"old")
    cache.put("a", b"x" * 11)
    assert cache.get("a") is None


def test_clear_evict_and_reset():
    cache: Cache[str, int] = Cache(3)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.evict("a")
    cache.evict("never there")
    assert cache.get("a") is None
    assert cache.clear() == 1
    assert cache.counts(reset=True) == CacheCounts(0, 1)
    assert cache.counts() == CacheCounts()


def test_a_failure_to_make_a_value_is_not_kept():
    cache: Cache[str, int] = Cache(3)
    with pytest.raises(ZeroDivisionError):
        cache.get_or("a", lambda: 1 // 0)
    assert cache.get_or("a", lambda: 7) == 7


def test_threads_that_make_a_value_at_once_share_the_first():
    cache: Cache[str, object] = Cache(3)
    together = threading.Barrier(8)

    def make() -> object:
        together.wait()
        return object()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.get_or("a", make), range(8)))
    assert len(set(map(id, found))) == 1


def test_many_threads_leave_it_whole():
    cache: Cache[int, bytes] = Cache(200, len)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(5000):
            key = chance.randrange(40)
            step = chance.random()
            if step < 0.6:
                assert len(cache.get_or(key, lambda key=key: bytes(key + 1))) == key + 1
            elif step < 0.8:
                cache.put(key, bytes(key + 1))
            elif step < 0.9:
                cache.evict(key)
            elif step < 0.99:
                assert sum(map(len, cache.values())) <= 200
            else:
                cache.clear()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sum(map(len, cache.values())) == cache._weight <= 200
