from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plan.generated import PARTITIONS, SCHEMA, columns_in, predicates, rows
from tests.unit.plan.log_files import TEXTS, files_of
from tests.unit.plan.sql_oracle import key, truth

from indextables.expr.binding import bind
from indextables.expr.literals import render_literal
from indextables.expr.predicate import Search, parse_predicate
from indextables.log.state import PartitionBounds
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.columns import describe_columns
from indextables.plan.prune import keep_manifest, prune_splits

# this writer stores bounds in the order of the type
MAPPING = [{"name": f.name, "type": "i64"} for f in SCHEMA.fields if f.name.startswith("c_")]
TYPED = describe_columns(SCHEMA, PARTITIONS, mappings=[json.dumps(MAPPING)])


def bound(predicate, schema):
    return bind(parse_predicate(predicate), schema)


@st.composite
def split_rows(draw):
    predicate = draw(predicates())
    names = columns_in(predicate)
    groups = draw(
        st.lists(st.lists(rows(SCHEMA, names), min_size=1, max_size=4), min_size=1, max_size=4)
    )
    for group in groups:
        for row in group:
            row.update({name: group[0][name] for name in PARTITIONS})
    return predicate, groups, draw(st.sampled_from([1, 2, 32]))


def check_pruning(predicate, groups, cut_length):
    files = files_of(groups, SCHEMA, PARTITIONS, cut_length)
    kept, counters = prune_splits(files, bound(predicate, SCHEMA), SCHEMA, PARTITIONS, TYPED)
    paths = set(kept.column("path").to_pylist())
    for number, group in enumerate(groups):
        if any(truth(predicate, row, SCHEMA) is True for row in group):
            assert f"splits/{number}.split" in paths
    pruned = counters.pruned_by_partition + counters.pruned_by_stats
    assert counters.considered == len(groups) == counters.kept + pruned


def test_the_bounds_of_splits_are_not_read_for_a_search_alone():
    files = files_of([[dict.fromkeys(SCHEMA.names)]], SCHEMA, PARTITIONS, 32)

    def known():
        raise AssertionError("a search says nothing about bounds")

    search = Search("any", (), "timeout")
    kept, counters = prune_splits(files, search, SCHEMA, PARTITIONS, TYPED, known=known)
    assert kept is files
    assert (counters.considered, counters.kept) == (1, 1)


@settings(max_examples=120, deadline=None)
@given(split_rows())
def test_no_split_with_a_matching_row_is_pruned(case):
    check_pruning(*case)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(split_rows())
def test_no_split_with_a_matching_row_is_pruned_in_thousands_of_cases(case):
    check_pruning(*case)


@settings(max_examples=80, deadline=None)
@given(split_rows())
def test_no_manifest_with_a_matching_split_is_left_out(case):
    predicate, groups, _ = case
    bounds = {}
    for name in PARTITIONS:
        values = [g[0][name] for g in groups if g[0][name] is not None]
        kind = SCHEMA.get(name).type
        if values:
            ends = (min(values, key=key), max(values, key=key))
            bounds[name] = PartitionBounds(*(render_literal(v, kind) for v in ends))
    keep = keep_manifest(bounds, parse_predicate(predicate), SCHEMA, PARTITIONS)
    matching = any(truth(predicate, row, SCHEMA) is True for group in groups for row in group)
    assert keep or not matching


LOGS = Struct(
    (
        Field("id", Atomic("long")),
        Field("code", Atomic("string")),
        Field("day", Atomic("date")),
        Field("price", Atomic("double")),
        Field("month", Atomic("integer")),
        Field("at", Atomic("timestamp")),
    )
)


def split(path, low, high, month="1"):
    return {
        "path": path,
        "partitionValues": [("month", month)],
        "size": 1,
        "numRecords": 1,
        # longer than the other strings, so those are not truncated
        "minValues": [("text", "t" * 20), *low.items()],
        "maxValues": list(high.items()),
    }


def table(*splits):
    kinds = {"partitionValues": TEXTS, "minValues": TEXTS, "maxValues": TEXTS}
    return pa.table(
        {name: pa.array([s[name] for s in splits], kinds.get(name)) for name in splits[0]}
    )


def kept(files, op, column, value, kind):
    predicate = {"op": op, "args": [{"col": [column]}, {"lit": value, "type": kind}]}
    found, _ = prune_splits(
        files, bound(predicate, LOGS), LOGS, ("month",), describe_columns(LOGS, ("month",))
    )
    return found.column("path").to_pylist()


def test_statistics_are_compared_by_declared_type():
    files = table(split("digits", {"code": "10"}, {"code": "2"}))
    assert kept(files, "=", "code", "15", "string") == ["digits"]
    assert kept(files, "=", "code", "3", "string") == []
    assert kept(files, "=", "code", "2.0", "string") == ["digits"]  # a cut maximum


def test_months_are_compared_as_numbers():
    files = table(split("nine", {}, {}, "9"), split("ten", {}, {}, "10"))
    assert kept(files, ">", "month", 9, "integer") == ["ten"]


@pytest.mark.parametrize(
    ("low", "high"),
    [("2024-01-01", "2024-01-31"), ("1704067200000000", "1706659200000000"), ("19723", "19753")],
)
def test_dates_are_read_in_every_spelling(low, high):
    files = table(split("january", {"day": low}, {"day": high}))
    assert kept(files, "=", "day", 19723, "date") == ["january"]
    assert kept(files, "=", "day", 19753, "date") == ["january"]
    assert kept(files, "=", "day", 19754, "date") == []
    assert kept(files, "<", "day", 19723, "date") == []


def test_manifests_of_digits_in_text_columns_are_kept():
    equal = {"op": "=", "args": [{"col": ["code"]}, {"lit": "5", "type": "string"}]}
    # as other writers store it for the values 1, 5 and 10
    numeric = {"code": PartitionBounds("1", "10")}
    assert keep_manifest(numeric, parse_predicate(equal), LOGS, ("code",))
    plain = {"code": PartitionBounds("a", "b")}
    assert not keep_manifest(plain, parse_predicate(equal), LOGS, ("code",))
    unknown = {"code": PartitionBounds("a", None)}
    above = {"op": ">", "args": [{"col": ["code"]}, {"lit": "z", "type": "string"}]}
    assert keep_manifest(unknown, parse_predicate(above), LOGS, ("code",))


def test_old_dates_in_microseconds_are_not_mistaken():
    files = table(split("old", {"day": "-86400000000"}, {"day": "0"}))
    assert kept(files, "=", "day", -1, "date") == ["old"]
    assert kept(files, "<", "day", -1, "date") == []


def test_cut_maximum_keeps_longer_values():
    files = table(split("long", {"code": "a" * 32}, {"code": "b" * 32}))
    assert kept(files, "=", "code", "b" * 40, "string") == ["long"]
    assert kept(files, ">", "code", "b" * 40, "string") == ["long"]
    assert kept(files, "=", "code", "bc", "string") == []


def test_not_a_number_is_above_every_maximum():
    files = table(split("nan", {"price": "1"}, {"price": "2"}))
    assert kept(files, ">", "price", 5.0, "double") == ["nan"]
    assert kept(files, "<", "price", 0.5, "double") == []


def test_numbers_kept_as_text_by_other_writers_prune_nothing():
    short = Struct((Field("n", Atomic("short")),))
    files = table(split("texts", {"n": "10"}, {"n": "3"}))
    predicate = bound({"op": "=", "args": [{"col": ["n"]}, {"lit": 2, "type": "short"}]}, short)
    as_text = describe_columns(short, mappings=['[{"name":"n","type":"text","tokenizer":"raw"}]'])
    typed = describe_columns(short, mappings=['[{"name":"n","type":"i64"}]'])
    assert prune_splits(files, predicate, short)[0].num_rows == 1
    assert prune_splits(files, predicate, short, columns=as_text)[0].num_rows == 1
    assert prune_splits(files, predicate, short, columns=typed)[0].num_rows == 0


def test_text_that_comes_back_in_another_spelling_prunes_nothing():
    files = table(split("json", {"code": '{"a": 1}'}, {"code": '{"a": 1}'}))
    equal = {"op": "=", "args": [{"col": ["code"]}, {"lit": '{"a":1}', "type": "string"}]}
    for kind in ("object", "ip"):
        columns = describe_columns(LOGS, mappings=[f'[{{"name":"code","type":"{kind}"}}]'])
        assert prune_splits(files, bound(equal, LOGS), LOGS, columns=columns)[0].num_rows == 1
    assert prune_splits(files, bound(equal, LOGS), LOGS)[0].num_rows == 1


def test_cut_numbers_prune_nothing():
    # as written: the minimum of doubles, truncated after 32 characters
    files = table(split("cut", {"price": "-1797693134862315700000000000000"}, {"price": "1"}))
    assert kept(files, "<", "price", -1e300, "double") == ["cut"]


@pytest.mark.parametrize(
    ("column", "kind", "low", "high", "inside"),
    [
        ("id", "long", "10000000", "12345678", 12345678900),
        ("id", "long", "-20", "-10", -1999),
        ("price", "double", "-1234", "1", -123456.0),
        ("at", "timestamp", "17407872", "17407900", 1740789000000000),
        ("day", "date", "17040", "17066", 19730),
    ],
)
def test_numbers_that_other_writers_may_have_cut_prune_nothing(column, kind, low, high, inside):
    """All statistics of a split are truncated at one length, which only the longest one shows."""
    alone = {"minValues": [(column, low)], "maxValues": [(column, high)]}
    cut = split("part-1.split", {}, {}) | alone
    assert kept(table(cut), "=", column, inside, kind) == ["part-1.split"]
    ours = "splits/split-9e107d9d-372b-4b3a-8f16-0123456789ab.split"
    assert kept(table({**cut, "path": f"month=1/{ours}"}), "=", column, -(10**15), kind) == []


def test_numbers_of_other_writers_prune_when_they_are_complete():
    def foreign(low, high):
        alone = {"minValues": [*low.items()], "maxValues": [*high.items()]}
        return table({**split("part-1.split", {}, {}), **alone})

    # there is a longer one
    longer = foreign({"id": "5", "code": "aaa"}, {"id": "9", "code": "b"})
    assert kept(longer, "=", "id", 10, "long") == []
    # no value of the type is longer
    time = foreign({"at": "1740787200000000"}, {"at": "1740790000000000"})
    assert kept(time, "=", "at", 1740790000000001, "timestamp") == []
    assert kept(foreign({"day": "2024-01-01"}, {"day": "2024-01-31"}), "=", "day", 1, "date") == []


def test_missing_or_foreign_statistics_keep_the_split():
    odd = split("odd", {"id": "many", "at": "2024-01-01T00:00:00Z"}, {})
    files = table(split("none", {}, {}), odd)
    assert kept(files, "=", "id", 5, "long") == ["none", "odd"]
    assert kept(files, "=", "at", 5, "timestamp") == ["none", "odd"]


def test_splits_whose_values_are_all_the_excluded_one_are_pruned():
    files = table(split("five", {"id": "5"}, {"id": "5"}), split("more", {"id": "5"}, {"id": "6"}))
    predicate = {"op": "<>", "args": [{"col": ["id"]}, {"lit": 5, "type": "long"}]}
    found, counters = prune_splits(files, bound(predicate, LOGS), LOGS)
    assert found.column("path").to_pylist() == ["more"]
    assert counters.pruned_by_stats == 1
