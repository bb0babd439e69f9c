from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from indextables.plan.tasks import group_splits, preferred_host

MB = 1 << 20


@given(
    st.lists(st.integers(0, 1 << 33), max_size=60),
    st.integers(1, 16),
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(1, 9)),
)
def test_every_split_is_in_exactly_one_task(sizes, cores, hosts, forced):
    names = [f"host{n}" for n in range(hosts)]
    groups = group_splits(
        sizes, cores, paths=[str(n) for n in range(len(sizes))], hosts=names, splits_per_task=forced
    )
    assert sorted(p for group in groups for p in group.splits) == list(range(len(sizes)))
    assert all(group.size == sum(sizes[p] for p in group.splits) for group in groups)
    if hosts:
        assert all(group.host in names for group in groups)


def test_few_large_splits_get_a_task_each():
    groups = group_splits([100 * MB] * 4, cores=8)
    assert [group.splits for group in groups] == [(0,), (1,), (2,), (3,)]


def test_many_tiny_splits_share_few_tasks():
    assert len(group_splits([1000] * 16, cores=2)) == 2


def test_no_task_has_more_splits_than_allowed():
    groups = group_splits([1000] * 100, cores=2, max_splits_per_task=8)
    assert max(len(group.splits) for group in groups) <= 8


def test_work_is_even():
    sizes = [500 * MB, 100 * MB, 100 * MB, 100 * MB, 100 * MB, 100 * MB]
    groups = group_splits(sizes, cores=1, max_splits_per_task=100)
    assert [group.size // MB for group in groups] == [500, 500]


def test_homes_stay_when_a_host_leaves():
    paths = [f"splits/{n}.split" for n in range(200)]
    before = {p: preferred_host(p, ["a", "b", "c"]) for p in paths}
    after = {p: preferred_host(p, ["a", "c"]) for p in paths}
    assert all(after[p] == home for p, home in before.items() if home != "b")
    assert set(before.values()) == {"a", "b", "c"}


SPLITS = st.lists(
    st.tuples(st.integers(0, 200 * MB), st.integers(0, 3), st.booleans()), max_size=60
)


def by_key(splits, cores, hosts, forced):
    """The tasks of each key."""
    groups = group_splits(
        [size for size, _, _ in splits], cores, paths=[str(n) for n in range(len(splits))],
        hosts=[f"host{n}" for n in range(hosts)], keys=[key for _, key, _ in splits],
        splits_per_task=forced,
    )  # fmt: skip
    assert sorted(p for group in groups for p in group.splits) == list(range(len(splits)))
    keys = [{splits[p][1] for p in group.splits} for group in groups]
    assert all(len(each) == 1 for each in keys)
    return Counter(key for each in keys for key in each)


@given(SPLITS, st.integers(1, 16), st.integers(0, 3), st.one_of(st.none(), st.integers(1, 9)))
def test_a_runtime_filter_never_adds_tasks_of_a_key(splits, cores, hosts, forced):
    before = by_key(splits, cores, hosts, forced)
    after = by_key([split for split in splits if split[2]], cores, hosts, forced)
    assert after <= before


def test_small_splits_of_a_key_share_a_task():
    groups = group_splits([1000] * 6, cores=8, keys=["a", "b", "a", "b", None, "a"])
    assert sorted(group.splits for group in groups) == [(0, 2, 5), (1, 3), (4,)]
