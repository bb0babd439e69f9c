"""Two writers that read the same version: the later one recomputes its change, or fails."""

from __future__ import annotations

import pytest
from tests.upserts.tables import SCHEMA, KeyTable

from indextables.commands.merge_splits import MergeRequest, run_merge
from indextables.commands.restore import run_restore
from indextables.errors import ConflictError
from indextables.log import Operation, open_log
from indextables.read.spec import DOC, SPLIT
from indextables.read.table import OpenTable
from indextables.runtime.steps import finish
from indextables.save.commit import Save, commit_save
from indextables.sql.local import LocalContext
from indextables.storage import open_store


def row(key: int, text: str) -> tuple:
    return (0, key, text, None, 1, None)


@pytest.fixture(params=[{"primary-key": "id"}, {}], ids=["keyed", "plain"])
def table(request, tmp_path):
    """A table with or without a primary key, with six rows in two splits."""
    made = KeyTable(open_log(open_store(str(tmp_path))), request.param)
    made.upsert([row(key, "a") for key in range(3)])
    made.upsert([row(key, "a") for key in range(3, 6)])
    return made


def found(table, *keys):
    """A version, and the positions of some rows in it."""
    here = table.log.snapshot()
    rows = table.read(here, [SPLIT, DOC])
    return here, rows.filter([key in keys for key in rows["id"].to_pylist()])


def merge(table) -> None:
    def opened() -> OpenTable:
        here = table.log.snapshot()
        return OpenTable(table.log, here, table.spec(here).settings)

    finish(run_merge(opened, MergeRequest()), LocalContext())


def texts(table) -> dict[int, str]:
    rows = table.rows()
    assert len(rows) == len({r[1] for r in rows})
    return {r[1]: r[2] for r in rows}


def test_both_deletes_take_effect_when_they_meet_in_a_split(table):
    here, mine = found(table, 0, 1)
    table.change(Operation.DELETE, *found(table, 1, 2))
    table.change(Operation.DELETE, here, mine)
    assert sorted(texts(table)) == [3, 4, 5]


def test_a_delete_finds_its_rows_when_splits_were_merged(table):
    here, mine = found(table, 1, 4)
    table.change(Operation.DELETE, *found(table, 0, 3))
    merge(table)
    table.change(Operation.DELETE, *found(table, 2))
    merge(table)
    table.change(Operation.DELETE, here, mine)
    assert sorted(texts(table)) == [5]


def test_an_update_goes_on_when_others_changed_other_rows(table):
    here, mine = found(table, 1)
    table.change(Operation.DELETE, *found(table, 0))
    merge(table)
    table.change(Operation.UPDATE, here, mine, [row(1, "b")])
    assert texts(table) == {1: "b", 2: "a", 3: "a", 4: "a", 5: "a"}


@pytest.mark.parametrize("merged", [False, True])
def test_an_update_is_refused_when_its_row_was_deleted(table, merged):
    here, mine = found(table, 1)
    table.change(Operation.DELETE, *found(table, 1))
    if merged:
        merge(table)
    with pytest.raises(ConflictError):
        table.change(Operation.UPDATE, here, mine, [row(1, "b")])
    assert 1 not in texts(table)


def test_rows_are_gone_when_the_table_was_overwritten(table):
    here, mine = found(table, 1)
    table.upsert([row(1, "new"), row(9, "new")], overwrite="all")
    table.change(Operation.DELETE, here, mine)
    assert texts(table) == {1: "new", 9: "new"}


@pytest.mark.parametrize("between", ["overwrite", "merge"])
def test_a_delete_finds_its_rows_when_their_splits_went_and_came_back(table, between):
    here, mine = found(table, 1, 4)
    if between == "merge":
        merge(table)
    else:
        table.upsert([row(9, "new")], overwrite="all")
    settings = table.spec(here).settings
    run_restore(OpenTable(table.log, table.log.snapshot(), settings), here.version)
    table.change(Operation.DELETE, here, mine)
    assert sorted(texts(table)) == [0, 2, 3, 5]


def test_a_delete_is_refused_when_its_rows_came_back_from_before_a_merge(table):
    before = table.log.snapshot().version
    merge(table)
    here, mine = found(table, 1)
    run_restore(OpenTable(table.log, table.log.snapshot(), table.spec(here).settings), before)
    with pytest.raises(ConflictError):
        table.change(Operation.DELETE, here, mine)
    table.change(Operation.DELETE, *found(table, 1))
    assert sorted(texts(table)) == [0, 2, 3, 4, 5]


def test_the_later_row_stays_when_two_upserts_read_the_same_version(tmp_path):
    table = KeyTable(open_log(open_store(str(tmp_path))), {"primary-key": "id"})
    table.upsert([row(1, "a")])
    here = table.log.snapshot()
    spec = table.spec(here)
    written = [table.write([[row(1, text), row(7, text)]], spec) for text in "bc"]
    for splits in written:
        save = Save("none", SCHEMA, (), spec.fields, splits, spec.settings, {}, keyed=spec)
        commit_save(table.log, save, here)
    assert texts(table) == {1: "c", 7: "c"}
    table.check_index(table.log.snapshot())


def test_a_replaced_row_stays_when_a_delete_had_seen_the_old_one(tmp_path):
    table = KeyTable(open_log(open_store(str(tmp_path))), {"primary-key": "id"})
    table.upsert([row(1, "a"), row(2, "a")])
    here, mine = found(table, 1, 2)
    table.upsert([row(1, "b")])
    merge(table)
    table.change(Operation.DELETE, here, mine)
    assert texts(table) == {1: "b"}
