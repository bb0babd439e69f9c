from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.model.types import Atomic, Field, Struct
from indextables.plan.merge import MergeLimits, fold_statistics, plan_merge

_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct([("file", pa.string()), ("cardinality", pa.int64())])
_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("partitionValues", _MAP),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("docMappingJson", pa.string()),
        ("docMappingRef", pa.string()),
        ("splitTags", pa.list_(pa.string())),
        ("deletionVector", _VECTOR),
        ("minValues", _MAP),
        ("maxValues", _MAP),
    ]
)


def _file(path, size, at=0, part=(), *, ref="m", tags=None, deleted=False, low=(), high=()):
    vector = {"file": "index/x", "cardinality": 1} if deleted else None
    return [path, list(part), size, at, None, ref, tags, vector, list(low), list(high)]


def _files(*rows):
    columns = list(zip(*rows, strict=True)) or [[]] * len(_SCHEMA)
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    return pa.table(arrays, schema=_SCHEMA)


def _paths(groups):
    return [group.paths for group in groups]


LIMITS = MergeLimits(target_bytes=100)


def test_small_splits_are_joined_oldest_first():
    files = _files(_file("c", 30, 3), _file("a", 30, 1), _file("b", 30, 2), _file("d", 30, 4))
    groups = plan_merge(files, LIMITS)
    assert _paths(groups) == [("a", "b", "c")]
    assert groups[0].size_bytes == 90


def test_large_splits_are_left_alone_unless_rows_were_deleted():
    files = _files(_file("big", 60, 1), _file("a", 10, 2), _file("b", 10, 3))
    assert _paths(plan_merge(files, LIMITS)) == [("a", "b")]
    files = _files(_file("big", 600, 1, deleted=True), _file("lone", 10, 2))
    assert _paths(plan_merge(files, LIMITS)) == [("big",)]


def test_partitions_and_tags_are_never_mixed():
    files = _files(
        _file("a", 1, 1, [("p", "1")]),
        _file("b", 1, 2, [("p", "2")]),
        _file("d", 1, 4, [("p", "1")], tags=["bucket:1"]),
        _file("e", 1, 5, [("p", "1")]),
    )
    groups = plan_merge(files, LIMITS)
    assert _paths(groups) == [("a", "e")]
    assert groups[0].partition_values == {"p": "1"}


def test_skipped_splits_are_left_alone():
    files = _files(_file("a", 1, 1), _file("b", 1, 2), _file("c", 1, 3))
    assert _paths(plan_merge(files, LIMITS, {"b"})) == [("a", "c")]


def test_groups_are_limited_to_the_largest_gain():
    files = _files(
        *[_file(f"a{i}", 1, i, [("p", "1")]) for i in range(2)],
        *[_file(f"b{i}", 1, i, [("p", "2")]) for i in range(3)],
    )
    limits = MergeLimits(100, max_groups=1)
    assert _paths(plan_merge(files, limits)) == [("b0", "b1", "b2")]


def test_nothing_is_planned_for_an_empty_table():
    assert plan_merge(_files(), LIMITS) == ()


@given(
    st.lists(
        st.tuples(st.integers(1, 120), st.integers(0, 5), st.sampled_from("pq"), st.booleans())
    ),
    st.integers(2, 5),
)
def test_every_plan_keeps_the_rules(rows, most):
    named = [(f"s{i}", *row) for i, row in enumerate(rows)]
    files = _files(*[_file(n, s, a, [("k", p)], deleted=d) for n, s, a, p, d in named])
    by_name = {name: (size, part, deleted) for name, size, _, part, deleted in named}
    groups = plan_merge(files, MergeLimits(100, 0.45, most))
    used = [path for group in groups for path in group.paths]
    assert len(used) == len(set(used))
    for group in groups:
        sizes = [by_name[path][0] for path in group.paths]
        assert len(group.paths) <= most
        assert len(group.paths) == 1 or sum(sizes) <= 100
        assert len(group.paths) > 1 or by_name[group.paths[0]][2]
        assert {by_name[path][1] for path in group.paths} == {group.partition_values["k"]}
        assert all(by_name[path][0] < 45 or by_name[path][2] for path in group.paths)


def test_statistics_are_folded_by_type():
    schema = Struct(
        (Field("n", Atomic("long")), Field("s", Atomic("string")), Field("x", Atomic("long")))
    )
    files = _files(
        _file("a", 1, low=[("n", "9"), ("s", "b"), ("x", "1")], high=[("n", "10"), ("s", "cccc")]),
        _file(
            "b", 1, low=[("n", "10"), ("s", "a"), ("x", "1")], high=[("n", "100"), ("s", "bbbb")]
        ),
    )
    low, high = fold_statistics(files, schema, schema.names)
    assert low == {"n": "9", "s": "a"}
    assert high == {"n": "100", "s": "cccc"}


def test_numbers_that_may_be_cut_are_not_folded():
    """The longest statistic of another writer's split may be a truncated number."""
    schema = Struct((Field("n", Atomic("long")),))
    files = _files(_file("part-a.split", 1, low=[("n", "1000")], high=[("n", "2000")]))
    assert fold_statistics(files, schema, schema.names) == ({}, {})
