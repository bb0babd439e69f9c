"""Compare the bounds of few splits as Python values: calling an Arrow kernel takes longer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from indextables.model.arrays import small_array
from indextables.model.strings import from_bytes, to_bytes, valid_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from indextables.expr.predicate import Bound

FEW = 16
# whole numbers, or the bytes of strings
Key: TypeAlias = "int | bytes"
# minimum and maximum of a split; None if unknown
Pair: TypeAlias = "tuple[Key | None, Key | None]"
# the ends of a range, which hold keys; None if it is open
Ends: TypeAlias = "tuple[Bound | None, Bound | None]"
# what cutting through a UTF-16 surrogate pair leaves at the end of a string
_CUT_THROUGH = (b"?", to_bytes("\ufffd"))


def may_overlap(pairs: Iterable[Pair], ranges: Sequence[Ends], *, cut: bool) -> pa.Array:
    """Per split: whether a value may be in one of some ranges; unknown counts as possible.

    With `cut`, a maximum may be only the beginning of the real one.
    """
    return mask_of(
        tuple(
            any(_up_to(low, upper) and _from(high, lower, cut=cut) for lower, upper in ranges)
            for low, high in pairs
        )
    )


def _up_to(low: Key | None, end: Bound | None) -> bool:
    if low is None or end is None:
        return True
    return bool(low <= end.value if end.inclusive else low < end.value)


def _from(high: Key | None, end: Bound | None, *, cut: bool) -> bool:
    if high is None or end is None:
        return True
    above = bool(high >= end.value if end.inclusive else high > end.value)
    return above or (cut and isinstance(high, bytes) and _continues(high, end.value))


def _continues(text: bytes, value: bytes) -> bool:
    """Whether a string may be a truncated form of a value."""
    start = text
    for end in _CUT_THROUGH:
        if text.endswith(end):
            start = text.removesuffix(end)
    # a cut string ends before the first byte that is not UTF-8
    return to_bytes(valid_start(from_bytes(value))).startswith(start)


@lru_cache(maxsize=1024)
def mask_of(truths: tuple[bool, ...]) -> pa.Array:
    """An array of a few booleans."""
    return small_array(truths, pa.bool_())
