"""Evaluate predicates on Arrow columns, in SQL's three-valued logic.

Used where all values are known: partition values of splits. The result is null where the predicate
is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from indextables.expr.predicate import (
    And,
    Constant,
    Missing,
    Not,
    OneOf,
    Or,
    Path,
    Predicate,
    Range,
    TextMatch,
)
from indextables.expr.regexes import translate_regex
from indextables.expr.values import FLOATING, kind_of
from indextables.model import kernels as pc
from indextables.model.arrays import FALSE, TRUE, small_scalar
from indextables.model.strings import decoded, is_valid, string_array, to_bytes
from indextables.model.types import DataType

Values = Mapping[Path, pa.Array]


def evaluate(predicate: Predicate, values: Values, rows: int) -> pa.Array | None:
    """The result of a bound predicate per row; None if some part of it cannot be evaluated here."""
    if isinstance(predicate, And | Or):
        parts = [evaluate(arg, values, rows) for arg in predicate.args]
        if any(part is None for part in parts):
            return None
        join = pc.and_kleene if isinstance(predicate, And) else pc.or_kleene
        result = constant(isinstance(predicate, And), rows)
        for part in parts:
            result = join(result, part)
        return result
    if isinstance(predicate, Not):
        inner = evaluate(predicate.arg, values, rows)
        return None if inner is None else pc.invert(inner)
    if isinstance(predicate, Constant):
        return constant(predicate.value, rows)
    return evaluate_leaf(predicate, values)


def constant(value: bool | None, rows: int) -> pa.Array:  # noqa: FBT001
    """The same result for every row."""
    return pa.repeat(TRUE if value else FALSE, rows)


def evaluate_leaf(leaf: Predicate, values: Values) -> pa.Array | None:
    """The result of one predicate per row; None if its column is unknown or only Spark can tell."""
    if not isinstance(leaf, Range | OneOf | TextMatch | Missing):
        return None
    column = values.get(leaf.path)
    if column is None:
        return None
    if isinstance(leaf, Missing):
        # NaN is a value
        return pc.is_null(column, nan_is_null=False)
    if isinstance(leaf, OneOf):
        return _one_of(leaf, column)
    if isinstance(leaf, Range):
        return _range(leaf, column)
    return _text(leaf, column)


def to_scalar(value: Any, column_type: DataType) -> pa.Scalar:
    """A literal as an Arrow scalar of its column's type."""
    arrow = column_type.to_arrow()
    if pa.types.is_date32(arrow):
        return small_scalar(value, pa.int32()).cast(arrow)
    if pa.types.is_timestamp(arrow) or pa.types.is_duration(arrow):
        return small_scalar(value, pa.int64()).cast(arrow)
    if pa.types.is_string(arrow):
        return string_array([value])[0]
    return small_scalar(value, arrow)


def _one_of(leaf: OneOf, column: pa.Array) -> pa.Array:
    scalars = [to_scalar(value, leaf.type) for value in leaf.values]
    if kind_of(leaf.type) in FLOATING:
        # NaN equals itself and -0.0 equals 0.0 here, unlike in Arrow's membership test
        hit = constant(value=False, rows=len(column))
        for scalar in scalars:
            hit = pc.or_(hit, _is(column, scalar))
    elif kind_of(leaf.type) == "string":
        hit = pc.is_in(column, string_array(leaf.values))
    else:
        hit = pc.is_in(column, pa.array([s.as_py() for s in scalars], leaf.type.to_arrow()))
    hit = pc.if_else(pc.is_null(column), small_scalar(None, pa.bool_()), hit)
    if leaf.or_null:
        hit = pc.if_else(hit, hit, small_scalar(None, pa.bool_()))
    return hit


def _is(column: pa.Array, scalar: pa.Scalar) -> pa.Array:
    if pc.is_nan(scalar).as_py():
        return pc.is_nan(column)
    return pc.equal(column, scalar)


def _range(leaf: Range, column: pa.Array) -> pa.Array:
    floating = kind_of(leaf.type) in FLOATING
    result = pc.if_else(pc.is_null(column), small_scalar(None, pa.bool_()), TRUE)
    for side, bound in (("lower", leaf.lower), ("upper", leaf.upper)):
        if bound is None:
            continue
        scalar = to_scalar(bound.value, leaf.type)
        end = side, bound.inclusive
        compare = _FLOAT_COMPARE[end] if floating else getattr(pc, _COMPARE[end])
        result = pc.and_(result, compare(column, scalar))
    return result


def _above(column: pa.Array, scalar: pa.Scalar) -> pa.Array:
    """Greater in Spark's order, where NaN is the greatest."""
    if pc.is_nan(scalar).as_py():
        return pc.if_else(pc.is_null(column), small_scalar(None, pa.bool_()), FALSE)
    return pc.or_(pc.is_nan(column), pc.greater(column, scalar))


def _at_least(column: pa.Array, scalar: pa.Scalar) -> pa.Array:
    return pc.or_(_above(column, scalar), _is(column, scalar))


# names of kernels
_COMPARE = {
    ("lower", True): "greater_equal",
    ("lower", False): "greater",
    ("upper", True): "less_equal",
    ("upper", False): "less",
}
_FLOAT_COMPARE = {
    ("lower", True): _at_least,
    ("lower", False): _above,
    ("upper", True): lambda column, scalar: pc.invert(_above(column, scalar)),
    ("upper", False): lambda column, scalar: pc.invert(_at_least(column, scalar)),
}


def _text(leaf: TextMatch, column: pa.Array) -> pa.Array | None:
    if leaf.kind in _BYTE_TESTS:
        test = getattr(pc, _BYTE_TESTS[leaf.kind])
        return test(column.view(pa.binary()), to_bytes(leaf.pattern))
    if not is_valid(leaf.pattern):
        return None
    if leaf.kind == "like":
        return pc.match_like(decoded(column), leaf.pattern)
    pattern = leaf.pattern if leaf.kind == "expression" else translate_regex(leaf.pattern)
    return None if pattern is None else pc.match_substring_regex(decoded(column), pattern)


_BYTE_TESTS = {"prefix": "starts_with", "suffix": "ends_with", "contains": "match_substring"}
