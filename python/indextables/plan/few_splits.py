"""Compare the bounds of few splits as Python numbers: calling an Arrow kernel takes longer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from indextables.model.arrays import small_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from indextables.expr.predicate import Bound

FEW = 16
# minimum and maximum of a split; None if unknown
Pair: TypeAlias = "tuple[int | None, int | None]"
# the ends of a range; None if it is open
Ends: TypeAlias = "tuple[Bound | None, Bound | None]"


def may_overlap(pairs: Iterable[Pair], ranges: Sequence[Ends]) -> pa.Array:
    """Per split: whether a value may be in one of some ranges; unknown counts as possible."""
    return mask_of(
        tuple(
            any(_up_to(low, upper) and _from(high, lower) for lower, upper in ranges)
            for low, high in pairs
        )
    )


def _up_to(low: int | None, end: Bound | None) -> bool:
    if low is None or end is None:
        return True
    return bool(low <= end.value if end.inclusive else low < end.value)


def _from(high: int | None, end: Bound | None) -> bool:
    if high is None or end is None:
        return True
    return bool(high >= end.value if end.inclusive else high > end.value)


@lru_cache(maxsize=1024)
def mask_of(truths: tuple[bool, ...]) -> pa.Array:
    """An array of a few booleans."""
    return small_array(truths, pa.bool_())
