"""Compare a column, perhaps under casts, with a literal, as a predicate on its values."""

from __future__ import annotations

from typing import Any

from indextables.expr.calendar import DAY_MICROS
from indextables.expr.casts import (
    Domain,
    crosses_zone,
    domain_of,
    is_floating,
    narrow_float,
    solve,
)
from indextables.expr.predicate import (
    Approximate,
    Bound,
    Literal,
    OneOf,
    Path,
    Predicate,
    Range,
)
from indextables.expr.values import is_plain_string, kind_of
from indextables.model.types import DataType

# a column with its type and the types it is cast to, innermost first
Subject = tuple[Path, DataType, tuple[DataType, ...]]


def compare_column(  # noqa: PLR0911 (one per family of types)
    op: str, subject: Subject, literal: Literal, *, utc: bool
) -> Predicate | None:
    """Return `cast(column) op literal` for a literal that is not null; None if not expressible."""
    path, kind, chain = subject
    domain = domain_of(kind)
    if domain is not None:
        if crosses_zone(kind, chain) and not utc:
            return _near(op, subject, domain, literal)
        solved = solve(op, kind, chain, literal.value, literal.type)
        return None if solved is None else _within(path, kind, domain, *solved)
    if is_plain_string(kind) and all(is_plain_string(k) for k in (*chain, literal.type)):
        # char(n) pads: leave that to Spark
        padded = any(getattr(k, "name", "").startswith("char(") for k in chain)
        return None if padded else _range(op, path, kind, literal.value)
    if is_floating(kind):
        return _floating_test(op, path, kind, chain, literal)
    if chain or kind_of(kind) != kind_of(literal.type):
        return None
    if kind_of(kind) == "boolean":
        hits = tuple(v for v in (False, True) if _holds(op, v, literal.value))
        return OneOf(path, kind, hits)
    return _range(op, path, kind, literal.value) if kind_of(kind) == "binary" else None


def _holds(op: str, left: Any, right: Any) -> bool:
    return bool(
        {
            "=": left == right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[op]
    )


def _within(path: Path, kind: DataType, domain: Domain, low: int, high: int) -> Predicate:
    """Whether a value lies between two numbers of its domain."""
    if low > high:
        return OneOf(path, kind, ())
    if low == high:
        return OneOf(path, kind, (domain.value(low),))
    lower = None if low <= domain.low else Bound(domain.value(low), inclusive=True)
    upper = None if high >= domain.high else Bound(domain.value(high), inclusive=True)
    return Range(path, kind, lower, upper)


def _near(op: str, subject: Subject, domain: Domain, literal: Literal) -> Predicate | None:
    """An approximate comparison across time zones: no zone is a whole day from UTC."""
    path, kind, chain = subject
    solved = solve(op, kind, chain, literal.value, literal.type)
    if solved is None:
        return None
    slack = 1 if kind_of(kind) == "date" else DAY_MICROS
    true = _within(path, kind, domain, solved[0] - slack, solved[1] + slack)
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}.get(op)
    false = _within(path, kind, domain, domain.low, domain.high)
    if opposite is not None:
        other = solve(opposite, kind, chain, literal.value, literal.type)
        assert other is not None
        false = _within(path, kind, domain, other[0] - slack, other[1] + slack)
    return Approximate(true, false)


def _floating_test(
    op: str, path: Path, kind: DataType, chain: tuple[DataType, ...], literal: Literal
) -> Predicate | None:
    if not is_floating(literal.type):
        return None
    wide = [kind_of(kind), *(kind_of(k) for k in chain)]
    if wide not in (["float"], ["double"], ["float", "double"]) or wide[-1] != kind_of(
        literal.type
    ):
        return None
    value = literal.value
    if wide[0] == "float":
        narrowed = narrow_float(op, value)
        if narrowed is None:
            return OneOf(path, kind, ())
        op, value = narrowed
    return _range(op, path, kind, value)


def _range(op: str, path: Path, kind: DataType, value: Any) -> Predicate:
    if op == "=":
        return OneOf(path, kind, (value,))
    bound = Bound(value, inclusive=op in ("<=", ">="))
    if op in ("<", "<="):
        return Range(path, kind, None, bound)
    return Range(path, kind, bound, None)
