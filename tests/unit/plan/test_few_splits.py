"""Bounds of few splits are compared in Python, those of many by kernels, with equal results."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.expr.predicate import Bound, OneOf, Range
from indextables.model.strings import is_valid
from indextables.model.types import Atomic
from indextables.plan.few_splits import FEW
from indextables.plan.statistics import Extremes, may_hold

STRING = Atomic("string")
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


# prefixes of each other, some cut within a character or followed by invalid bytes
texts = st.sampled_from(["", "a", "ab", "abc", "a?", "ab\ufffd", "b", "ab\udcff", "\U0001f600"])
known_texts = texts.filter(is_valid)
text_pairs = st.tuples(st.none() | known_texts, st.none() | known_texts)
text_ends = st.none() | st.builds(Bound, texts, st.booleans())
text_leaves = st.builds(Range, st.just(("c",)), st.just(STRING), text_ends, text_ends) | st.builds(
    OneOf, st.just(("c",)), st.just(STRING), st.lists(texts, max_size=4).map(tuple)
)


@settings(deadline=None)
@given(text_leaves, st.lists(text_pairs, min_size=1, max_size=FEW), st.booleans())
def test_strings_of_few_splits_are_pruned_like_those_of_many(leaf, bounds, cut):
    few, many = (
        Extremes(STRING, *(pa.array(list(s), pa.string()) for s in zip(*pairs, strict=True)), cut)
        for pairs in (bounds, bounds * (FEW + 1))
    )
    assert few.few is not None
    assert many.few is None
    assert may_hold(leaf, few).to_pylist() == may_hold(leaf, many).to_pylist()[: len(bounds)]


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
