"""Minimum and maximum of splits: strings of the log as typed columns, and what they exclude."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from indextables.expr.calendar import DAY_MICROS
from indextables.expr.evaluate import to_scalar
from indextables.expr.predicate import Bound, OneOf, Path, Range, TextMatch
from indextables.expr.values import FLOATING, INTEGRAL_BITS, is_plain_string, kind_of, order_key
from indextables.model import kernels as pc
from indextables.model.arrays import FALSE, TRUE, small_array, small_scalar
from indextables.model.kinds import KINDS, Family
from indextables.model.strings import valid_start
from indextables.model.types import Decimal
from indextables.plan.few_splits import FEW, Pair, may_overlap
from indextables.plan.partitions import map_column, typed_partition

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from numpy.typing import NDArray

    from indextables.model.types import DataType, Struct

_WHOLE = r"^-?\d{1,18}$"
_NUMBER = r"^-?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$"
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
# where other writers truncate even numbers, unless they are configured to truncate earlier
_CUT_LENGTH = 32
# our splits, whose numbers are never cut
_OURS = r"(^|/)splits/split-[^/]+\.split$"
# how many digits the largest values have; dates and timestamps of other writers end in 2262
_MOST_OF_KIND = {"byte": 3, "short": 5, "integer": 10, "date": 16, "timestamp": 16}
# day numbers are below, microseconds of any midnight but that of 1970-01-01 above
_MOST_DAYS = 3_700_000
_MOST_DIGITS = 38
_MOST_CLUSTERS = 64


@dataclass(frozen=True)
class Extremes:
    """Typed minimum and maximum per split, null where unknown.

    `cut` says that a string may be only the beginning of the real maximum: other writers truncate
    long strings without rounding up, at a length that is not recorded.
    """

    type: DataType
    low: pa.Array
    high: pa.Array
    cut: bool

    @property
    def is_whole(self) -> bool:
        """Whether the values are whole numbers: integers, days or microseconds."""
        family = KINDS[kind_of(self.type)].family
        return family in (Family.INTEGER, Family.TIME) and pa.types.is_int64(self.low.type)

    @cached_property
    def few(self) -> list[Pair] | None:
        """The values as Python compares them, if they are whole or strings, and of few splits."""
        sides = [self.low, self.high]
        if len(self.low) > FEW:
            return None
        if pa.types.is_string(self.low.type):
            sides = [side.cast(pa.binary()) for side in sides]
        elif not self.is_whole:
            return None
        return list(zip(*(side.to_pylist() for side in sides), strict=True))


def read_extremes(
    files: pa.Table, schema: Struct, names: Sequence[str], trusted: Container[str]
) -> Mapping[Path, Extremes]:
    """The extremes of data columns whose type preserves the order in the strings of the log.

    `trusted` are the columns whose statistics mean what the type says (`ColumnInfo.ordered`).
    """
    found: dict[Path, Extremes] = {}
    longest = _longest_of_others(files)
    for name in names:
        field = schema.get(name)
        if field is None or name not in trusted:
            continue
        sides = (map_column(files.column(side), name) for side in ("minValues", "maxValues"))
        low, high = (_texts(_uncut(side, longest, field.type), field.type) for side in sides)
        if low is not None and high is not None:
            if kind_of(field.type) == "double":
                low, high = _beside_floats(low, high)
            found[name,] = Extremes(field.type, low, high, cut=kind_of(field.type) == "string")
    return found


def read_bounds(table: pa.Table, schema: Struct, names: Sequence[str]) -> Mapping[Path, Extremes]:
    """The bounds of partition columns, written as partition values are and never cut."""
    found: dict[Path, Extremes] = {}
    for name in names:
        field = schema.get(name)
        if field is None:
            continue
        low = typed_partition(table.column("minValues"), name, field.type)
        high = typed_partition(table.column("maxValues"), name, field.type)
        if pa.types.is_string(low.type):
            # other writers compare strings that look like numbers as numbers
            odd = pc.or_(_looks_numeric(low), _looks_numeric(high))
        else:
            odd = pc.fill_null(pc.greater(low, high), FALSE)
        low = pc.if_else(odd, small_scalar(None, low.type), low)
        high = pc.if_else(odd, small_scalar(None, high.type), high)
        found[name,] = Extremes(field.type, low, high, cut=False)
    return found


def _longest_of_others(files: pa.Table) -> pa.Array | None:
    """Per split of another writer: the length of its longest statistic; null for our splits.

    None if all splits are ours.
    """
    ours = pc.match_substring_regex(files.column("path").combine_chunks(), _OURS)
    if pc.all(ours).as_py():
        return None
    sides = (_longest(files.column(side)) for side in ("minValues", "maxValues"))
    longest = pa.array(reduce(np.maximum, sides), pa.int32())
    return pc.if_else(ours, small_scalar(None, pa.int32()), longest)


def _longest(maps: pa.ChunkedArray) -> NDArray[np.int32]:
    """The length of the longest string in each map, 0 without one."""
    if isinstance(maps, pa.ChunkedArray):
        return np.concatenate([np.zeros(0, np.int32), *map(_longest, maps.chunks)])
    lengths = pc.fill_null(pc.utf8_length(maps.items), 0).to_numpy(zero_copy_only=False)
    offsets = maps.offsets.to_numpy()
    found = np.maximum.reduceat(np.append(lengths, 0), offsets[:-1]) if len(maps) else lengths
    return np.where(np.diff(offsets) > 0, found, 0).astype(np.int32)


def _uncut(text: pa.Array, longest: pa.Array | None, kind: DataType) -> pa.Array:
    """Strings of statistics, null where a number may be only the beginning of one.

    Other writers cut the statistics of all columns at one length, which is not recorded. A string
    is complete if the split has a longer one, or if its type has no longer values.
    """
    name = kind_of(kind)
    if longest is None or name in ("string", "boolean"):
        return text
    whole = pc.fill_null(pc.less(pc.utf8_length(text), longest), TRUE)
    if name in _MOST_OF_KIND:
        pattern = rf"^(-?\d{{{_MOST_OF_KIND[name]}}}|\d{{4}}-\d{{2}}-\d{{2}})$"
        whole = pc.or_kleene(whole, pc.match_substring_regex(text, pattern))
    return pc.if_else(whole, text, small_scalar(None, pa.string()))


def _looks_numeric(text: pa.Array) -> pa.Array:
    pattern = r"(?i)^[-+]?(\d+\.?\d*|\.\d+|inf|infinity|nan)([eE][-+]?\d+)?$"
    return pc.fill_null(pc.match_substring_regex(text, pattern), FALSE)


def _texts(text: pa.Array, kind: DataType) -> pa.Array | None:  # noqa: PLR0911 (one per kind)
    """Strings of statistics as values of a type; null if a string is ambiguous."""
    name = kind_of(kind)
    if name == "string":
        return text if is_plain_string(kind) else None
    if name in INTEGRAL_BITS:
        return _matching(text, _WHOLE).cast(pa.int64())
    if name in FLOATING:
        # the string of a float stands for the nearest float, not the nearest double
        narrow = kind.to_arrow()
        short = pc.less(pc.utf8_length(text), _CUT_LENGTH)
        whole = pc.if_else(short, text, small_scalar(None, pa.string()))
        return _matching(whole, _NUMBER).cast(narrow).cast(pa.float64())
    if name == "boolean":
        lowered = pc.utf8_lower(text)
        known = pc.is_in(lowered, pa.array(["true", "false"]))
        value = pc.equal(lowered, "true")
        return pc.if_else(known, value, small_scalar(None, pa.bool_()))
    if name == "timestamp":
        return _matching(text, _WHOLE).cast(pa.int64())
    if name == "timestamp_ntz":
        return _times_or_days(text)
    if isinstance(kind, Decimal):
        return _decimals(text, kind)
    return _days(text) if name == "date" else None


def _decimals(text: pa.Array, kind: Decimal) -> pa.Array:
    """Decimals of at most the type's digits; anything else is unknown."""
    whole = max(kind.precision - kind.scale, 1)
    pattern = rf"^-?\d{{1,{whole}}}(\.\d{{1,{kind.scale}}})?$" if kind.scale > 0 else _WHOLE
    wide = kind.precision < _MOST_DIGITS and kind.scale >= 0
    return _matching(text, pattern if wide else "a^").cast(kind.to_arrow())


def _matching(text: pa.Array, pattern: str) -> pa.Array:
    fits = pc.match_substring_regex(text, pattern)
    return pc.if_else(fits, text, small_scalar(None, pa.string()))


def _beside_floats(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Bounds of doubles that may once have been floats, whose strings are the nearest float."""
    near_low, near_high = (side.cast(pa.float32()).cast(pa.float64()) for side in (low, high))
    return (
        pc.min_element_wise(low, near_low, skip_nulls=False),
        pc.max_element_wise(high, near_high, skip_nulls=False),
    )


def _times_or_days(text: pa.Array) -> pa.Array:
    """Timestamps that may once have been dates: microseconds, or midnight of a day.

    Numbers so small that they may be day numbers are unknown.
    """
    number = _matching(text, _WHOLE).cast(pa.int64())
    is_days = pc.less_equal(pc.abs(number), _MOST_DAYS)
    micros = pc.if_else(is_days, small_scalar(None, pa.int64()), number)
    iso = _matching(text, _ISO_DATE).cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    return pc.coalesce(micros, pc.multiply(iso, DAY_MICROS))


def _days(text: pa.Array) -> pa.Array:
    """Parse a date written as a day, as its number, or as microseconds."""
    iso = _matching(text, _ISO_DATE).cast(pa.date32()).cast(pa.int32())
    number = _matching(text, _WHOLE).cast(pa.int64())
    is_micros = pc.greater(pc.abs(number), _MOST_DAYS)
    day = pc.divide(number, DAY_MICROS)
    midnight = pc.equal(pc.multiply(day, DAY_MICROS), number)
    from_micros = pc.if_else(midnight, day, small_scalar(None, pa.int64()))
    days = pc.if_else(is_micros, from_micros, number)
    return pc.coalesce(iso.cast(pa.int64()), days)


def may_hold(leaf: Range | OneOf | TextMatch, known: Extremes) -> pa.Array:
    """Per split: whether the predicate may hold for some value."""
    if known.few is not None and isinstance(leaf, Range | OneOf):
        return may_overlap(known.few, _ranges(leaf), cut=known.cut)
    if isinstance(leaf, OneOf):
        inside = [
            pc.and_(_up_to(known, last, inclusive=True), _from(known, first, inclusive=True))
            for first, last in _clusters(leaf.values)
        ]
        return reduce(pc.or_, inside) if inside else _every(known, value=False)
    if isinstance(leaf, TextMatch):
        return _may_match(leaf, known)
    ends: list[pa.Array] = []
    if leaf.upper is not None:
        ends.append(_up_to(known, leaf.upper.value, inclusive=leaf.upper.inclusive))
    if leaf.lower is not None:
        ends.append(_from(known, leaf.lower.value, inclusive=leaf.lower.inclusive))
    return reduce(pc.and_, ends) if ends else _every(known, value=True)


def _ranges(leaf: Range | OneOf) -> list[tuple[Bound | None, Bound | None]]:
    """The ranges in which the key of a value must lie."""
    if isinstance(leaf, Range):
        lower, upper = (
            end and Bound(order_key(end.value), end.inclusive) for end in (leaf.lower, leaf.upper)
        )
        return [(lower, upper)]
    return [
        (Bound(order_key(first), inclusive=True), Bound(order_key(last), inclusive=True))
        for first, last in _clusters(leaf.values)
    ]


def _every(known: Extremes, *, value: bool) -> pa.Array:
    return pa.repeat(TRUE if value else FALSE, len(known.low))


def _clusters(values: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Neighbouring values as ranges, so that a long list costs no more than a short one."""
    ordered = sorted(values, key=order_key)
    size = -(-len(ordered) // _MOST_CLUSTERS) or 1
    return [
        (ordered[at], ordered[min(at + size, len(ordered)) - 1])
        for at in range(0, len(ordered), size)
    ]


def may_not_hold(leaf: Range | OneOf | TextMatch, known: Extremes) -> pa.Array:
    """Per split: whether the predicate may fail for some value."""
    if isinstance(leaf, TextMatch) or kind_of(known.type) in FLOATING or known.cut:
        # NaN and the rest of a cut string are in neither extreme: nothing is proven
        return _every(known, value=True)
    if isinstance(leaf, OneOf):
        if leaf.or_null:
            return _every(known, value=False)
        constant = _every(known, value=False)
        for value in leaf.values:
            scalar = _scalar(value, known)
            same = pc.and_(pc.equal(known.low, scalar), pc.equal(known.high, scalar))
            constant = pc.or_(constant, pc.fill_null(same, FALSE))
        return pc.invert(constant)
    return _outside(leaf, known)


def _outside(leaf: Range, known: Extremes) -> pa.Array:
    """Whether some value may lie outside a range: below its lower or above its upper end."""
    result = _every(known, value=False)
    if leaf.lower is not None:
        below = _up_to(known, leaf.lower.value, inclusive=not leaf.lower.inclusive)
        result = pc.or_(result, below)
    if leaf.upper is not None:
        above = _from(known, leaf.upper.value, inclusive=not leaf.upper.inclusive)
        result = pc.or_(result, above)
    return result


def _up_to(known: Extremes, value: Any, *, inclusive: bool) -> pa.Array:
    """Whether some value may be at most (or below) `value`; unknown counts as yes."""
    if order_key(value) == order_key(float("nan")) and isinstance(value, float):
        return _every(known, value=True)
    compare = pc.less_equal if inclusive else pc.less
    return _or_unknown(compare(known.low, _scalar(value, known)))


def _from(known: Extremes, value: Any, *, inclusive: bool) -> pa.Array:
    """Whether some value may be at least (or above) `value`; unknown counts as yes."""
    if kind_of(known.type) in FLOATING:
        # NaN is above everything and in no statistic
        return _every(known, value=True)
    scalar = _scalar(value, known)
    compare = pc.greater_equal if inclusive else pc.greater
    certain = _or_unknown(compare(known.high, scalar))
    return pc.or_(certain, _continues(known.high, value)) if known.cut else certain


def _or_unknown(truth: pa.Array) -> pa.Array:
    """What is not known counts as true."""
    return pc.fill_null(truth, TRUE) if truth.null_count else truth


def _continues(texts: pa.Array, value: str) -> pa.Array:
    """Per string: whether it may be a truncated form of `value`."""
    # cutting through a UTF-16 surrogate pair leaves a replacement character
    starts = pc.replace_substring_regex(texts, "[?\\x{fffd}]$", "")
    # a cut string ends before the first byte that is not UTF-8
    value = valid_start(value)
    longest = pc.max(pc.utf8_length(starts)).as_py() or 0
    prefixes = [value[:end] for end in range(min(longest, len(value)) + 1)]
    return pc.is_in(starts, small_array(prefixes, pa.string()))


def _may_match(leaf: TextMatch, known: Extremes) -> pa.Array:
    prefix = valid_start(leaf.pattern if leaf.kind == "prefix" else _literal_start(leaf))
    if not prefix:
        return _every(known, value=True)
    # the least string with the prefix is the prefix itself; the greatest is unbounded
    not_all_below = _from(known, prefix, inclusive=True)
    head = pc.utf8_slice_codeunits(known.low, 0, len(prefix))
    not_all_above = _or_unknown(pc.less_equal(head, small_scalar(prefix, head.type)))
    return pc.and_(not_all_below, not_all_above)


def _literal_start(leaf: TextMatch) -> str:
    """The prefix of every string that matches a LIKE pattern."""
    if leaf.kind != "like":
        return ""
    start: list[str] = []
    chars = iter(leaf.pattern)
    for char in chars:
        if char in ("%", "_"):
            break
        start.append(next(chars) if char == "\\" else char)
    return "".join(start)


def _scalar(value: Any, known: Extremes) -> pa.Scalar:
    if known.is_whole:
        return small_scalar(value, pa.int64())
    if kind_of(known.type) in FLOATING:
        return small_scalar(value, pa.float64())
    return to_scalar(value, known.type)
