"""Bounds of few splits are compared in Python, those of many by kernels: with the same outcome."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.expr.predicate import Bound, OneOf, Range
from indextables.model.types import Atomic
from indextables.plan.few_splits import FEW
from indextables.plan.statistics import Extremes, may_hold

KINDS = [Atomic("long"), Atomic("integer"), Atomic("timestamp"), Atomic("date")]
numbers = st.integers(-3, 3)
pairs = st.tuples(st.none() | numbers, st.none() | numbers)
ends = st.none() | st.builds(Bound, numbers, st.booleans())


@st.composite
def leaves(draw):
    kind = draw(st.sampled_from(KINDS))
    if draw(st.booleans()):
        return Range(("c",), kind, draw(ends), draw(ends))
    return OneOf(("c",), kind, tuple(draw(st.lists(numbers, max_size=4))))


def extremes(kind, bounds):
    low, high = (pa.array(list(side), pa.int64()) for side in zip(*bounds, strict=True))
    return Extremes(kind, low, high, cut=False)


@settings(deadline=None)
@given(leaves(), st.lists(pairs, min_size=1, max_size=FEW))
def test_few_splits_are_pruned_like_many(leaf, bounds):
    few = extremes(leaf.type, bounds)
    many = extremes(leaf.type, bounds * (FEW + 1))
    assert few.few is not None
    assert many.few is None
    found = may_hold(leaf, few)
    assert found.to_pylist() == may_hold(leaf, many).to_pylist()[: len(bounds)]
    assert found.null_count == 0
