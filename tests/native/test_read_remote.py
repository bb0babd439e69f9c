"""Splits in an object store give the same answers with few requests."""

from __future__ import annotations

import json
import os
import uuid

import pyarrow as pa
import pytest

from indextables import _native
from indextables.engine.cache import clear_memory
from indextables.engine.split import Split
from indextables.engine.store import open_store, traffic
from indextables.errors import StorageError
from rows import SCHEMA, some_rows, write_split


@pytest.fixture(scope="module", params=["compatible", "lean"])
def data(request, tmp_path_factory):
    """The same rows on local disk and in an object store."""
    rows = some_rows(20_000, nulls=0.05)
    folder = tmp_path_factory.mktemp("split")
    local_store, path = write_split(folder, rows, layout=request.param)
    url = f"memory:///{uuid.uuid4()}"
    open_store(url).put(path, (folder / path).read_bytes())
    local = Split(local_store, path, schema=SCHEMA)
    about = local.describe()
    return local, url, path, (about["footer_start"], about["footer_end"])


def cold(data) -> tuple[Split, _native.Store]:
    _, url, path, footer = data
    clear_memory()
    store = open_store(url)
    return Split(store, path, footer=footer, schema=SCHEMA), store


def test_a_term_count_takes_two_requests_when_the_split_is_cold(data):
    local, *_ = data
    split, store = cold(data)
    assert traffic(store).requests == 1
    query = {"type": "token_term", "field": "message", "text": "timeout"}
    assert split.count(query) == local.count(query)
    assert traffic(store).requests <= 2
    assert traffic(store).bytes < 300_000
    split.count(query)
    assert traffic(store).requests <= 2


def test_an_unknown_footer_costs_a_few_requests_more(data):
    _, url, path, _ = data
    store = open_store(url)
    split = Split(store, path, schema=SCHEMA)
    assert split.num_docs == 20_000
    assert traffic(store).requests <= 4


@pytest.mark.parametrize(
    "query",
    [
        None,
        {"type": "search", "query": '"connection reset" OR timeout', "fields": ["message"]},
        {"type": "term", "field": "tiny", "value": 5},
        {"type": "range", "field": "price", "lower": {"value": "4.90", "inclusive": True}},
        {"type": "contains", "field": "name", "value": "b"},
        {"type": "term", "field": "person.name", "value": "ann"},
    ],
)
def test_rows_are_the_same_near_and_far(data, query):
    local, *_ = data
    split, _ = cold(data)
    schema = SCHEMA.append(pa.field("_doc", pa.int64()))
    near, far = local.table(query, schema), split.table(query, schema)
    # NaN does not equal itself, but its text does
    assert str(near.to_pylist()) == str(far.to_pylist())


def test_few_rows_are_read_without_whole_columns(data):
    local, *_ = data
    split, store = cold(data)
    schema = pa.schema([SCHEMA.field(name) for name in ("big", "double", "name", "message")])
    found = split.table(None, schema, limit=3)
    assert str(found.to_pylist()) == str(local.table(None, schema, limit=3).to_pylist())
    if local.describe()["layout"] == "compatible":
        assert traffic(store).requests <= 3


def test_aggregates_are_the_same_near_and_far(data):
    local, *_ = data
    split, _ = cold(data)
    request = {
        "group_by": [{"field": "name"}],
        "functions": [{"op": "count_star"}, {"op": "sum", "field": "price"}],
    }
    schema = pa.schema([("name", pa.string()), ("n", pa.int64()), ("s", pa.decimal128(20, 2))])
    near, far = (s.aggregate(None, request, schema).sort_by("name") for s in (local, split))
    assert near == far


def test_a_forked_process_reads_on(data, tmp_path):
    split, _ = cold(data)
    _, url, path, footer = data
    expected = split.count({"type": "term", "field": "flag", "value": True})
    answer = tmp_path / "answer"
    child = os.fork()
    if child == 0:
        try:
            store = open_store(url)
            again = Split(store, path, footer=footer, schema=SCHEMA)
            count = again.count({"type": "term", "field": "flag", "value": True})
            answer.write_text(json.dumps(count))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert json.loads(answer.read_text()) == expected


def test_a_missing_object_is_named(data):
    _, url, *_ = data
    with pytest.raises(StorageError, match="nowhere"):
        Split(open_store(url), "nowhere.split")


WIDE = pa.schema([("id", pa.int64()), ("message", pa.string())])


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A split of a few megabytes of incompressible strings, in an object store."""
    words = [os.urandom(200).hex() for _ in range(20_000)]
    rows = pa.table({"id": pa.array(range(20_000), pa.int64()), "message": words}, WIDE)
    folder = tmp_path_factory.mktemp("large")
    store, path = write_split(
        folder, rows, fields=[{"name": "message", "role": "text", "record": "basic"}]
    )
    url = f"memory:///{uuid.uuid4()}"
    open_store(url).put(path, (folder / path).read_bytes())
    about = Split(store, path, schema=WIDE).describe()
    return url, path, (about["footer_start"], about["footer_end"])


def scattered(large, count: int, options: dict[str, int]) -> tuple[int, int]:
    """Requests and bytes for reading scattered rows."""
    url, path, footer = large
    clear_memory()
    store = open_store(url, options)
    split = Split(store, path, footer=footer, schema=WIDE)
    wanted = list(range(0, 20_000, 20_000 // count))[:count]
    found = split.table({"type": "set", "field": "id", "values": wanted}, WIDE)
    assert found["id"].to_pylist() == wanted
    return traffic(store).requests, traffic(store).bytes


def test_scattered_documents_take_few_requests(large):
    assert scattered(large, 60, {})[0] <= 8
    assert scattered(large, 1000, {})[0] <= 60


def test_documents_are_joined_as_the_options_say(large):
    each, least = scattered(large, 100, {"read_gap_bytes": 0})
    assert each >= 100
    joined, more = scattered(large, 100, {"read_gap_bytes": 1 << 20})
    assert joined <= 5
    assert more > 2 * least
    bounded, _ = scattered(large, 100, {"read_range_bytes": 1 << 20})
    assert joined < bounded < each
    few, _ = scattered(large, 100, {"read_least_ranges": 101})
    assert joined < few < each


def test_a_forked_process_writes_and_merges(data, tmp_path):
    """Threads of the parent do not exist in the child: nothing there may wait for them."""
    rows = some_rows(500, nulls=0.1)
    for part in range(2):
        write_split(tmp_path / f"parent{part}", rows)
    cold(data)[0].table(None, SCHEMA, limit=100)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            parts = [write_split(tmp_path / "child", rows)[1] for _ in range(2)]
            store = _native.Store(str(tmp_path / "child"))
            merged, _ = _native.merge([(path, None, None) for path in parts], store, "merged.split")
            code = 0 if merged["num_records"] == 1000 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
