"""What prewarming loads, and on which hosts."""

from __future__ import annotations

import pytest

from indextables.errors import IndexTablesError
from indextables.plan.prewarm import assign_hosts, cut, plan_parts

COLUMNS = ["id", "Message"]


def test_parts_have_one_name_each_when_they_are_given_by_aliases():
    parts = plan_parts(
        ("term_dict", "TERM", "Doc_Store"), ("message",), COLUMNS, fail_on_missing=True
    )
    assert parts.segments == ("TERM", "STORE")
    assert parts.fields == ("Message",)
    assert parts.skipped == ()


def test_parts_outside_splits_are_named_and_not_loaded_when_they_are_given():
    parts = plan_parts(("PARQUET_COLUMNS", "FASTFIELD"), (), COLUMNS, fail_on_missing=True)
    assert parts.segments == ("PARQUET_COLS", "FASTFIELD")
    assert parts.in_splits == ("FASTFIELD",)


def test_a_field_is_refused_or_skipped_when_the_table_lacks_it():
    with pytest.raises(IndexTablesError) as caught:
        plan_parts(("TERM",), ("id", "other"), COLUMNS, fail_on_missing=True)
    assert caught.value.code == "PREWARM_FIELD_UNKNOWN"
    parts = plan_parts(("TERM",), ("id", "other"), COLUMNS, fail_on_missing=False)
    assert (parts.fields, parts.skipped) == (("id",), ("other",))


def test_a_segment_is_refused_when_nobody_knows_it():
    with pytest.raises(IndexTablesError) as caught:
        plan_parts(("EVERYTHING",), (), COLUMNS, fail_on_missing=True)
    assert caught.value.code == "PREWARM_SEGMENT_UNKNOWN"


def test_splits_keep_their_home_when_a_host_joins():
    paths = [f"splits/{i}.split" for i in range(300)]
    two = assign_hosts(paths, ["a", "b"])
    three = assign_hosts(paths, ["a", "b", "c"])
    assert sorted(i for split in two.values() for i in split) == list(range(300))
    assert min(map(len, three.values())) > 50
    assert set(three["a"]) < set(two["a"])
    assert set(three["b"]) < set(two["b"])
    assert assign_hosts(paths, []) == {"": list(range(300))}


def test_items_are_cut_into_groups_when_they_are_many():
    assert cut([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]
