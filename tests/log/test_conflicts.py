"""Every pair of operations: what becomes of a commit when another one was faster.

The table below is the one in docs/spec/PROTOCOL.md; a test compares them.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pyarrow as pa
import pytest
from tests.log.tables import SCHEMA, Table, add, paths

from indextables.errors import ConflictError
from indextables.log import DeletionVector, Operation, Transaction, Txn
from indextables.log import operations as change
from indextables.model.types import Field, Struct, parse_type, render_schema

A, B, C = "splits/a.split", "splits/b.split", "splits/c.split"


def vector(file="index/index-x-0", n=1):
    return DeletionVector(file, 1, 20, n)


def first_partition(now):
    """Files of n=1 that are there at commit."""
    table = now.files()
    keep = [dict(values).get("n") == "1" for values in table["partitionValues"].to_pylist()]
    return table.filter(pa.array(keep, pa.bool_()))


def schema_with(*fields):
    return render_schema(Struct((*SCHEMA.fields, *fields)))


def narrowed(metadata):
    text = render_schema(Struct(SCHEMA.fields[:-1]))
    return dataclasses.replace(metadata, schema_string=text)


def widened(metadata):
    text = schema_with(Field("more", parse_type("string")))
    return dataclasses.replace(metadata, schema_string=text)


MINE = {
    "append": lambda s: change.append(s, [add("mine", partition={"n": "1"})]),
    "overwrite": lambda s: change.overwrite(s, [add("mine", partition={"n": "1"})]),
    "replace where": lambda s: change.replace_matching(
        s, [add("mine", partition={"n": "1"})], first_partition
    ),
    "delete": lambda s: change.change_rows(Operation.DELETE, s, {A: vector()}),
    "update": lambda s: change.change_rows(
        Operation.UPDATE, s, {A: vector()}, adds=[add("mine", partition={"n": "1"})]
    ),
    "upsert": lambda s: change.change_rows(
        Operation.UPSERT, s, {A: vector()}, adds=[add("mine")], reads=lambda file: True
    ),
    "merge splits": lambda s: change.merge_splits(s, [A, B], [add("mine", partition={"n": "1"})]),
    "drop partitions": lambda s: change.drop_matching(s, first_partition),
    "change metadata": lambda s: change.change_metadata(
        s, lambda m: dataclasses.replace(m, description="mine")
    ),
    "restore": None,
}
WINNERS = {
    "append": lambda s: change.append(s, [add("win", partition={"n": "1"})]),
    "overwrite": lambda s: change.overwrite(s, [add("win", partition={"n": "1"})]),
    "replace where": lambda s: change.replace_matching(
        s, [add("win", partition={"n": "1"})], first_partition
    ),
    "delete": lambda s: change.change_rows(Operation.DELETE, s, {A: vector("index/index-w-0")}),
    "delete elsewhere": lambda s: change.change_rows(Operation.DELETE, s, {C: vector()}),
    "merge splits": lambda s: change.merge_splits(s, [A, B], [add("win", partition={"n": "1"})]),
    "merge elsewhere": lambda s: change.merge_splits(s, [C], [add("win", partition={"n": "2"})]),
    "drop partitions": lambda s: change.drop_matching(s, first_partition),
    "add a column": lambda s: change.change_metadata(s, widened),
    "drop a column": lambda s: change.change_metadata(s, narrowed),
    "restore": None,
}
# what becomes of the row's operation after the column's: c commits, r is made anew, x is refused
TABLE = {
    "append":          "c c c c c c c c c x c",
    "overwrite":       "r r r r r r r r r x r",
    "replace where":   "r r r r r r r r r x r",
    "delete":          "c x x x c x c x c x x",
    "update":          "c x x x c x c x c x x",
    "upsert":          "x x x x x x c x c x x",
    "merge splits":    "c x x x c x c x c x x",
    "drop partitions": "r r r r r r r r r r r",
    "change metadata": "r r r r r r r r r r r",
    "restore":         "r r r r r r r r r r r",
}  # fmt: skip
PAIRS = [(mine, winner) for mine in TABLE for winner in WINNERS]


@pytest.fixture
def table():
    table = Table({"checkpoint.enabled": "false"}, ("n",))
    table.append("a", "b", partition={"n": "1"})
    table.append("c", partition={"n": "2"})
    return table


def made(kinds, name, table):
    here = table.log.snapshot()
    if kinds[name] is None:
        return change.restore(here, table.log.snapshot(0))
    return kinds[name](here)


@pytest.mark.parametrize(("mine", "winner"), PAIRS)
def test_a_pair_does_what_the_table_says(table, mine, winner):
    verdict = TABLE[mine].split()[list(WINNERS).index(winner)]
    transaction = made(MINE, mine, table)
    winning = table.log.commit(made(WINNERS, winner, table))
    if verdict == "x":
        with pytest.raises(ConflictError, match=f"version {winning.version}"):
            table.log.commit(transaction)
        assert table.reopen().snapshot().version == winning.version
        return
    done = table.log.commit(transaction)
    assert done.version == winning.version + 1
    check_outcome(table, mine, winner)


def check_outcome(table, mine, winner):
    """The outcome is that of running one after the other."""
    alone = Table({"checkpoint.enabled": "false"}, ("n",))
    alone.append("a", "b", partition={"n": "1"})
    alone.append("c", partition={"n": "2"})
    alone.log.commit(made(WINNERS, winner, alone))
    expected = made(MINE, mine, alone) if MINE[mine] is None or mine in REBUILT else None
    if expected is not None:
        alone.log.commit(expected)
        assert paths(table.reopen().snapshot()) == paths(alone.reopen().snapshot())
    live = paths(table.reopen().snapshot())
    assert len(live) == len(set(live))
    if mine in ("append", "update", "merge splits"):
        assert "mine" in live


REBUILT = {"overwrite", "replace where", "drop partitions", "change metadata"}


def test_the_specification_has_the_same_table():
    text = (Path(__file__).parents[2] / "docs/spec/PROTOCOL.md").read_text()
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|(.+)\|$", text, re.MULTILINE)
    written = {name: " ".join(cell.strip() for cell in cells.split("|")) for name, cells in rows}
    assert written == TABLE


def test_a_winner_is_found_when_it_comes_between_check_and_put(table, monkeypatch):
    """The race itself: the other commit arrives after we looked, before we write."""
    transaction = made(MINE, "merge splits", table)
    other = table.reopen()
    put = table.log.store.put

    def late(path, data, *, if_absent=False):
        monkeypatch.setattr(table.log.store, "put", put)
        other.commit(change.change_rows(Operation.DELETE, other.snapshot(), {A: vector()}))
        return put(path, data, if_absent=if_absent)

    monkeypatch.setattr(table.log.store, "put", late)
    with pytest.raises(ConflictError, match="DELETE"):
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
    transaction = made(MINE, "append", table)
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
