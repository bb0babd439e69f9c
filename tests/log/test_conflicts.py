"""Races for one version, on the log alone; tests/crash has every pair of verbs."""

from __future__ import annotations

import pytest
from tests.log import changes as change
from tests.log.tables import Table, add, paths

from indextables.errors import ConflictError
from indextables.log import DeletionVector, Operation, Transaction, Txn

A, B = "splits/a.split", "splits/b.split"


def vector(file="index/index-x-0", n=1):
    return DeletionVector(file, 1, 20, n)


@pytest.fixture
def table():
    table = Table({"checkpoint.enabled": "false"}, ("n",))
    table.append("a", "b", partition={"n": "1"})
    table.append("c", partition={"n": "2"})
    return table


def test_a_winner_is_found_when_it_comes_between_check_and_put(table, monkeypatch):
    """The other commit arrives after the check and before the write."""
    transaction = change.merge_splits(table.log.snapshot(), [A, B], [add("mine")])
    other = table.reopen()
    put = table.log.store.put

    def late(path, data, *, if_absent=False):
        monkeypatch.setattr(table.log.store, "put", put)
        other.commit(change.change_rows(Operation.DELETE, other.snapshot(), {A: vector()}))
        return put(path, data, if_absent=if_absent)

    monkeypatch.setattr(table.log.store, "put", late)
    with pytest.raises(ConflictError, match="the splits were changed"):
        table.log.commit(transaction)


def test_two_overwrites_leave_one_result_when_they_race(table, monkeypatch):
    transaction = change.overwrite(table.log.snapshot(), [add("mine", partition={"n": "1"})])
    other = table.reopen()
    put = table.log.store.put

    def late(path, data, *, if_absent=False):
        monkeypatch.setattr(table.log.store, "put", put)
        other.commit(change.overwrite(other.snapshot(), [add("win", partition={"n": "1"})]))
        return put(path, data, if_absent=if_absent)

    monkeypatch.setattr(table.log.store, "put", late)
    table.log.commit(transaction)
    assert paths(table.reopen().snapshot()) == ["mine"]


def test_mappings_of_both_are_kept_when_two_appends_bring_new_ones(table):
    here = table.log.snapshot()
    one = change.append(here, [add("x", doc_mapping_json='[{"name":"x"}]')])
    two = change.append(here, [add("y", doc_mapping_json='[{"name":"y"}]')])
    table.log.commit(one)
    table.log.commit(two)
    fresh = table.reopen().snapshot()
    refs = [ref for ref in fresh.files()["docMappingRef"].to_pylist() if ref]
    assert {fresh.registry[ref] for ref in refs} == {'[{"name":"x"}]', '[{"name":"y"}]'}


def test_a_commit_gives_up_when_others_are_always_faster(table, monkeypatch):
    transaction = change.append(table.log.snapshot(), [add("mine")])
    other = table.reopen()
    put = table.log.store.put
    count = iter(range(100))

    def late(path, data, *, if_absent=False):
        other.commit(change.append(other.snapshot(), [add(f"o{next(count)}")]))
        return put(path, data, if_absent=if_absent)

    monkeypatch.setattr(table.log.store, "put", late)
    with pytest.raises(ConflictError, match="10 times"):
        table.log.commit(transaction)
    assert table.clock.slept == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0]


def test_a_streamed_batch_is_kept_apart_by_its_query(table):
    for app in ("one", "two"):
        here = table.log.snapshot()
        batch = Transaction(Operation.APPEND, here.version, (add(app),), txn=Txn(app, 0))
        assert table.log.commit(batch).skipped is False
    assert table.log.snapshot().txns == {"one": 0, "two": 0}
