"""Hedged reads: a slow read is sent a second time, and the first response wins."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from tests.stores.conftest import _numbers
from tests.stores.proxy import PASS, SILENT, Request

from indextables.config.settings import resolve
from indextables.engine.cache import clear_memory
from indextables.engine.split import Split
from indextables.engine.store import open_store as open_native
from indextables.engine.store import traffic
from indextables.engine.writer import SplitWriter
from indextables.errors import StorageError
from indextables.storage import open_store

SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string())])
FILES, ROWS = 64, 20
# one read in this many may be sent twice
SHARE = 20
PATIENT = {"cloud.readTimeout": "60000"}


class Splits:
    """Small splits behind the proxy, each read by one request and never cached."""

    def __init__(self, s3, proxy, **options: str) -> None:
        self.url = f"{s3.root}/hedged-{next(_numbers)}"
        given = s3.options | {"s3.endpoint": proxy.endpoint, "cache.disk.enabled": "false"}
        # long enough for a busy machine to answer
        settings = resolve(given | {"cloud.hedgeAfter": "1500"} | options)
        self.store = open_native(*open_store(self.url, settings).native())
        batch = pa.record_batch(
            {"id": list(range(ROWS)), "message": [f"row {n}" for n in range(ROWS)]}, schema=SCHEMA
        )
        writer = SplitWriter(SCHEMA, [])
        writer.write(batch)
        info = writer.finish(self.store, "0.split")
        self.footer = (info.footer_start, info.footer_end)
        whole = self.store.find("0.split")
        for name in (*range(1, FILES), "last"):
            self.store.put(f"{name}.split", whole)

    def read_many(self) -> None:
        """Read so often that some reads may be sent twice."""
        for number in range(FILES):
            self.read(number)

    def read(self, name: int | str) -> None:
        clear_memory()
        split = Split(self.store, f"{name}.split", self.footer, schema=SCHEMA)
        found = split.table({"type": "all"}, SCHEMA)
        assert found["message"].to_pylist() == [f"row {n}" for n in range(ROWS)]

    def counted(self) -> tuple[int, int]:
        """The number of reads, and of those that were sent twice."""
        kinds = dict(self.store.counters()[0])
        return kinds["get"], kinds["hedge"]


def once_silent(wanted: str):
    """A rule that leaves the first request for each of these files unanswered."""
    seen: set[str] = set()

    def rule(request: Request) -> str:
        if request.method != "GET" or wanted not in request.path or request.path in seen:
            return PASS
        seen.add(request.path)
        return SILENT

    return rule


def test_a_read_without_a_response_is_sent_once_more(s3, proxy):
    splits = Splits(s3, proxy, **PATIENT)
    splits.read_many()
    reads, hedged = splits.counted()
    assert reads >= 3 * SHARE
    proxy.requests.clear()
    proxy.rule = once_silent("/last.split")
    splits.read("last")
    first, second = (each.headers for each in proxy.received("GET", "/last.split")[:2])
    assert first["range"] == second["range"]
    assert splits.counted()[1] == hedged + 1
    # the process counts them among its requests
    assert traffic(splits.store).hedged == hedged + 1
    assert traffic(splits.store).requests > traffic(splits.store).hedged


def test_few_reads_are_sent_twice_where_all_are_slow(s3, proxy):
    splits = Splits(s3, proxy, **{"cloud.hedgeAfter": "50", "cloud.readTimeout": "150"})
    proxy.rule = once_silent(".split")
    for number in range(SHARE + 4):
        splits.read(number)
    reads, hedged = splits.counted()
    assert reads >= SHARE + 4
    assert 1 <= hedged <= reads // SHARE


def test_nothing_is_sent_twice_where_it_is_turned_off(s3, proxy):
    splits = Splits(s3, proxy, **{"cloud.hedgeAfter": "0", "cloud.readTimeout": "150"})
    splits.read_many()
    proxy.rule = once_silent("/last.split")
    splits.read("last")
    assert splits.counted()[1] == 0


def test_writes_are_never_sent_twice(s3, proxy):
    splits = Splits(s3, proxy, **PATIENT, **{"cloud.hedgeAfter": "50"})
    splits.read_many()
    proxy.requests.clear()
    proxy.delay_seconds = 0.3
    for number in range(4):
        splits.store.put(f"new-{number}", b"x")
    sent = Counter(request.path for request in proxy.received("PUT"))
    assert sorted(sent.values()) == [1] * 4


def test_an_error_of_both_is_the_error(s3, proxy):
    splits = Splits(s3, proxy)
    splits.read_many()
    splits.store.delete("last.split")
    proxy.delay_seconds = 2.0
    with pytest.raises(StorageError, match=r"last\.split"):
        splits.read("last")
