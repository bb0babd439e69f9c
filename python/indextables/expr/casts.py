"""Comparisons through casts, solved for the column itself.

Columns stored as whole numbers (integers, decimals, dates, timestamps, intervals) form an ordered
domain; a cast that preserves the order maps an interval of results back to an exact interval of the
domain. So `CAST(long_column AS DOUBLE) > 1e18` becomes a plain bound on the column.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Decimal as Number
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from indextables.expr.calendar import DAY_MICROS, year_of
from indextables.expr.values import FLOATING, INTEGRAL_BITS, kind_of, order_key, to_float32
from indextables.model.kinds import KINDS, Family, names_of
from indextables.model.types import Atomic, DataType, Decimal

if TYPE_CHECKING:
    from collections.abc import Callable

_FLOAT_SOURCE_BITS = 32
_TIMES = names_of(Family.TIME)
# not a type of Spark: the result of EXTRACT(YEAR ..), treated as a cast
YEAR = Atomic("year")


@dataclass(frozen=True)
class Domain:
    """The whole numbers that represent a column's values; `scale` shifts them to decimals."""

    low: int
    high: int
    scale: int = 0
    decimal: bool = False

    def value(self, number: int) -> Any:
        """The column value of a number in the domain."""
        if not self.decimal:
            return number
        digits = tuple(int(d) for d in str(abs(number)))
        return Number((int(number < 0), digits, -self.scale))


@lru_cache(maxsize=256)
def domain_of(column_type: DataType) -> Domain | None:
    """The domain of a type, if its values are stored as whole numbers."""
    if isinstance(column_type, Decimal):
        most = 10**column_type.precision - 1
        return Domain(-most, most, column_type.scale, decimal=True)
    known = KINDS.get(kind_of(column_type))
    bits = known.bits if known else None
    return Domain(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if bits else None


def solve(
    op: str, source: DataType, chain: tuple[DataType, ...], value: Any, value_type: DataType
) -> tuple[int, int] | None:
    """The interval of the domain on which `cast(x) op value` holds; empty when low > high.

    None if a cast of the chain (innermost first) does not preserve the order exactly.
    """
    domain = domain_of(source)
    if domain is None:
        return None
    if _is_number(source) and all(_keeps_number(a, b) for a, b in _steps(source, chain)):
        split = _split_numeric(domain, value, value_type)
    elif not chain and kind_of(source) == kind_of(value_type):
        split = (value, value + 1)
    else:
        split = _split_by_search(domain, source, chain, value, value_type)
    return None if split is None else _interval(op, domain, *split)


def _interval(op: str, domain: Domain, at_least: int, above: int) -> tuple[int, int]:
    low, high = {
        "=": (at_least, above - 1),
        "<": (domain.low, at_least - 1),
        "<=": (domain.low, above - 1),
        ">": (above, domain.high),
        ">=": (at_least, domain.high),
    }[op]
    return max(low, domain.low), min(high, domain.high)


def _steps(source: DataType, chain: tuple[DataType, ...]) -> list[tuple[DataType, DataType]]:
    return list(zip((source, *chain), chain, strict=False))


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, Decimal) or kind_of(kind) in INTEGRAL_BITS


def _keeps_number(source: DataType, target: DataType) -> bool:
    inner, outer = domain_of(source), domain_of(target)
    if inner is None or outer is None or not (_is_number(source) and _is_number(target)):
        return False
    whole_inner = inner.high // 10**inner.scale
    whole_outer = outer.high // 10**outer.scale
    return outer.scale >= inner.scale and whole_outer >= whole_inner


def _split_numeric(domain: Domain, value: Any, value_type: DataType) -> tuple[int, int] | None:
    """The first number that is not below `value`, and the first above it."""
    if not _is_number(value_type):
        return None
    if isinstance(value, int):
        number = value * 10**domain.scale
        return number, number + 1
    exact = Fraction(value) * 10**domain.scale
    return math.ceil(exact), math.floor(exact) + 1


def _split_by_search(
    domain: Domain,
    source: DataType,
    chain: tuple[DataType, ...],
    value: Any,
    value_type: DataType,
) -> tuple[int, int] | None:
    function = _monotone(source, chain)
    if function is None or kind_of(chain[-1]) not in (kind_of(value_type), YEAR.name):
        return None
    key = order_key(value)
    return (
        _first(domain, lambda x: function(x) >= key),
        _first(domain, lambda x: function(x) > key),
    )


def crosses_zone(source: DataType, chain: tuple[DataType, ...]) -> bool:
    """Whether a cast of the chain depends on the session's time zone."""
    if not chain:
        return False
    kinds = [kind_of(step) for step in (source, *chain)]
    return any(
        one != other and "timestamp" in (one, other) and {one, other} <= {*_TIMES, YEAR.name}
        for one, other in itertools.pairwise(kinds)
    )


def _as_in_utc(kinds: list[str]) -> Callable[[int], Any] | None:
    """Casts between dates and timestamps in UTC."""
    if len(kinds) != 2 or not set(kinds) <= {*_TIMES, YEAR.name}:  # noqa: PLR2004 (one cast)
        return None
    if kinds[1] == YEAR.name:
        return year_of if kinds[0] == "date" else lambda x: year_of(x // DAY_MICROS)
    if kinds[0] == "date":
        return lambda x: x * DAY_MICROS
    if kinds[1] == "date":
        return lambda x: x // DAY_MICROS
    return lambda x: x


def _monotone(source: DataType, chain: tuple[DataType, ...]) -> Callable[[int], Any] | None:
    kinds = [kind_of(step) for step in (source, *chain)]
    between_times = _as_in_utc(kinds)
    if between_times is not None:
        return between_times
    widening = _steps(source, chain[:-1])
    if any(k not in INTEGRAL_BITS for k in kinds[:-1]) or not all(
        _keeps_number(a, b) for a, b in widening
    ):
        return None
    if kinds[-1] == "double":
        return lambda x: order_key(float(x))
    if kinds[-1] == "float" and INTEGRAL_BITS[kinds[-2]] <= _FLOAT_SOURCE_BITS:
        return lambda x: order_key(to_float32(float(x)))
    return None


def _first(domain: Domain, holds: Callable[[int], bool]) -> int:
    """The least number for which a monotone condition holds, or one past the end."""
    low, high = domain.low, domain.high + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def narrow_float(op: str, value: float) -> tuple[str, float] | None:
    """`CAST(x AS DOUBLE) op value` for a `float` x, as a comparison with a float; None: never."""
    nearest = to_float32(value)
    if math.isnan(value) or nearest == value:
        return op, nearest
    if op == "=":
        return None
    if nearest < value:
        return ("<=" if op in ("<", "<=") else ">"), nearest
    return ("<" if op in ("<", "<=") else ">="), nearest


def is_floating(kind: DataType) -> bool:
    """Whether a type is `float` or `double`."""
    return kind_of(kind) in FLOATING
