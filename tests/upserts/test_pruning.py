"""A query by key opens only the splits of its bucket."""

from __future__ import annotations

import pytest
from tests.upserts.tables import KeyTable

from indextables.expr.predicate import parse_predicate
from indextables.log import open_log
from indextables.plan.key_splits import buckets_of
from indextables.read.key_pruning import prune_by_key
from indextables.storage import open_store

INT = '"integer"'


def equal(column: str, value: int) -> dict:
    return {"op": "=", "args": [{"col": [column]}, {"lit": value, "type": INT}]}


@pytest.fixture
def table(tmp_path):
    options = {"primary-key": "id", "dynamic-bucket.target-row-num": "10"}
    table = KeyTable(open_log(open_store(str(tmp_path))), options)
    table.upsert([(0, key, f"v{key}", None, 1, None) for key in range(100)])
    table.upsert([(0, key, f"w{key}", None, 1, None) for key in range(0, 100, 3)])
    return table


def kept(table, predicate):
    here = table.log.snapshot()
    settings = table.spec(here).settings
    return prune_by_key(here.files(), parse_predicate(predicate), here, table.log.store, settings)


def test_one_bucket_is_left_when_a_key_is_named(table):
    everything = table.log.snapshot().files()
    for key in range(100):
        files = kept(table, equal("id", key))
        assert len(set(buckets_of(files).tolist())) == 1
        assert files.num_rows < everything.num_rows / 3
    both = {"op": "AND", "args": [equal("id", 3), equal("seq", 1)]}
    assert kept(table, both).num_rows == kept(table, equal("id", 3)).num_rows


def test_nothing_is_left_when_no_bucket_knows_the_key(table):
    assert kept(table, equal("id", 10_000)).num_rows == 0


def test_all_splits_stay_when_the_key_is_not_named(table):
    everything = table.log.snapshot().num_files
    either = {"op": "OR", "args": [equal("id", 3), equal("seq", 1)]}
    for predicate in (equal("seq", 1), either, {"op": "NOT", "args": [equal("id", 3)]}):
        assert kept(table, predicate).num_rows == everything
