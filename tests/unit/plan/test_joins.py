from __future__ import annotations

from tests.unit.plan.test_scan import scan

from indextables.model.types import Atomic, Field, Struct
from indextables.plan.columns import describe_columns
from indextables.plan.joins import (
    ALWAYS,
    BROADCAST,
    KeySource,
    judge_join,
    key_columns,
    key_limit,
)

MEMBERS = Struct((Field("city", Atomic("string")), Field("tags", Struct(()))))
SCHEMA = Struct(
    (
        Field("id", Atomic("long")),
        Field("message", Atomic("string")),
        Field("sorted", Atomic("string collate UNICODE_CI")),
        Field("address", Atomic("string")),
        Field("user", MEMBERS),
        Field("day", Atomic("date")),
    )
)
ROLES = '{"message":{"role":"text"},"address":{"role":"ip"}}'
COLUMNS = describe_columns(SCHEMA, ["day"], {"indextables.indexing": ROLES})


def judge(path, other_bytes=0, *, rows=10, chosen=False, most=10, local=False):
    other = KeySource(rows, other_bytes, chosen)
    return judge_join(scan(), COLUMNS, path, other, most=most, local=local)


def test_keys_are_looked_up_where_the_index_has_whole_values():
    assert key_columns(COLUMNS) == ["id", "user", "day"]
    assert judge(("user", "city"))[0] == ALWAYS
    assert judge(("user", "tags")) == (None, "user.tags by Spark")
    assert judge(("message",)) == (None, "message by Spark")


def test_keys_are_computed_again_only_if_that_reads_less_than_the_table():
    size = scan().bytes
    assert judge(("id",), size // 2) == (ALWAYS, "id by index up to 10 keys")
    assert judge(("id",), size) == (BROADCAST, "id by index up to 10 keys of a broadcast")
    assert judge(("id",), most=0) == (None, "id by Spark")
    assert judge(("id",), local=True) == (None, None)


def test_keys_are_not_computed_again_if_they_are_likely_too_many():
    assert judge(("id",), rows=11)[0] == BROADCAST
    assert judge(("id",), rows=54, chosen=True)[0] == ALWAYS
    assert judge(("id",), rows=55, chosen=True)[0] == BROADCAST
    assert judge(("day",), rows=1_000_000)[0] == ALWAYS, "few values, and they prune splits"


def test_more_keys_than_a_tenth_of_the_rows_are_not_looked_up():
    assert key_limit(1_000_000, 200_000) == 25_000
    assert key_limit(10_000_000, 200_000) == 200_000
    assert key_limit(50, 200_000) == 1000
    assert key_limit(None, 200_000) == 200_000
    assert key_limit(50, 0) == 0
