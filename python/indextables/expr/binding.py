"""Bind comparisons of expressions to a schema, as predicates on single columns.

A bound tree holds only `And`, `Or`, `Not`, `Constant`, the bound forms, `Search` and `Opaque`. For
every row it has the same result as the original tree, in SQL's three-valued logic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.expr.calendar import DAY_MICROS
from indextables.expr.casts import YEAR, crosses_zone, domain_of, is_floating, solve
from indextables.expr.comparison import Subject, compare_column
from indextables.expr.patterns import in_any_case, simplify_like
from indextables.expr.predicate import (
    FALSE,
    TRUE,
    UNKNOWN,
    Among,
    And,
    Approximate,
    ArrayContains,
    Call,
    Column,
    Compare,
    Constant,
    Expr,
    HasElement,
    Holding,
    In,
    IsNull,
    Literal,
    Missing,
    Not,
    OneOf,
    Opaque,
    Or,
    Path,
    Predicate,
    Search,
    TextMatch,
    TextTest,
    search_of,
)
from indextables.expr.values import (
    INTEGRAL_BITS,
    WHOLE,
    is_plain_string,
    kind_of,
    order_key,
    to_float32,
)
from indextables.model.types import Array, DataType, Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

UTC_NAMES = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "+00:00"})
_LONGEST_PATTERN = 256
_FLIPPED = {"=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def bind(predicate: Predicate, schema: Struct, time_zone: str = "") -> Predicate:
    """The same predicate over the columns of this schema.

    `time_zone` is the session's; unless it is UTC, predicates that depend on it are approximated.
    """
    return _bind(predicate, Scope(schema, utc=time_zone in UTC_NAMES))


def _bind(predicate: Predicate, scope: Scope) -> Predicate:  # noqa: PLR0911 (one per node)
    if isinstance(predicate, And):
        return conjunction(*(_bind(arg, scope) for arg in predicate.args))
    if isinstance(predicate, Or):
        return disjunction(*(_bind(arg, scope) for arg in predicate.args))
    if isinstance(predicate, Not):
        return negation(_bind(predicate.arg, scope))
    if isinstance(predicate, Compare):
        return _compare(predicate, scope)
    if isinstance(predicate, In):
        return _in(predicate, scope)
    if isinstance(predicate, Among):
        return _among(predicate, scope)
    if isinstance(predicate, IsNull):
        return _is_null(predicate.arg, scope)
    if isinstance(predicate, TextTest):
        return _text_test(predicate, scope)
    if isinstance(predicate, ArrayContains):
        return _array_contains(predicate, scope)
    return predicate


def conjunction(*args: Predicate) -> Predicate:
    """AND, simplified."""
    return _joined(And, args, neutral=TRUE, absorbing=FALSE)


def disjunction(*args: Predicate) -> Predicate:
    """OR, simplified."""
    return _joined(Or, args, neutral=FALSE, absorbing=TRUE)


def _joined(
    kind: type[And | Or], args: tuple[Predicate, ...], *, neutral: Constant, absorbing: Constant
) -> Predicate:
    if len(args) == 1:
        return args[0]
    kept: list[Predicate] = []
    for arg in args:
        kept.extend(arg.args if isinstance(arg, kind) else [arg])
    kept = [arg for arg in kept if arg != neutral]
    if absorbing in kept:
        return absorbing
    return kept[0] if len(kept) == 1 else kind(tuple(kept)) if kept else neutral


def negation(arg: Predicate) -> Predicate:
    """NOT, simplified."""
    if isinstance(arg, Not):
        return arg.arg
    if isinstance(arg, Constant):
        return Constant(None if arg.value is None else not arg.value)
    return Not(arg)


@dataclass(frozen=True)
class Scope:
    """The context that resolves names and casts."""

    schema: Struct
    utc: bool = False


def column_under_casts(expr: Expr, schema: Struct) -> Subject | None:
    """A column under casts: its path, its type and the types it is cast to, innermost first."""
    chain: list[DataType] = []
    while isinstance(expr, Call) and len(expr.args) == 1:
        if expr.name == "CAST" and expr.type is not None:
            chain.insert(0, expr.type)
        elif expr.name == "EXTRACT_YEAR" and not chain:
            chain.insert(0, YEAR)
        else:
            return None
        expr = expr.args[0]
    if not isinstance(expr, Column):
        return None
    found = schema.find(expr.path) if expr.path else None
    return (expr.path, found.type, tuple(chain)) if found is not None else None


def _opaque(name: str, *exprs: Expr) -> Opaque:
    columns: set[Path] = set()
    searches: list[Search] = []
    waiting = list(exprs)
    name = next((expr.name for expr in exprs if isinstance(expr, Call)), name)
    while waiting:
        expr = waiting.pop()
        if isinstance(expr, Column):
            columns.add(expr.path)
        elif isinstance(expr, Call):
            waiting.extend(expr.args)
            searches.extend(search_of(expr))
    return Opaque(name, frozenset(columns), tuple(searches))


def _compare(node: Compare, scope: Scope) -> Predicate:
    op, left, right = node.op, node.left, node.right
    if isinstance(left, Literal) and not isinstance(right, Literal):
        op, left, right = _FLIPPED[op], right, left
    if isinstance(left, Call) and left.name == "CHAR_LENGTH" and isinstance(right, Literal):
        return _length(op, left, right, scope)
    subject = column_under_casts(left, scope.schema)
    if subject is None or not isinstance(right, Literal):
        return _opaque(op, node.left, node.right)
    path, kind, chain = subject
    if right.value is None:
        if op != "<=>":
            return UNKNOWN
        return Missing(path, kind) if _total(kind, chain) else _opaque(op, left)
    test = compare_column("=" if op == "<=>" else op, subject, right, utc=scope.utc)
    if test is None:
        return _opaque(op, left)
    return conjunction(Not(Missing(path, kind)), test) if op == "<=>" else test


def _length(op: str, call: Call, literal: Literal, scope: Scope) -> Predicate:
    """A comparison of a string's length as a LIKE pattern; Spark itself turns LIKE into these."""
    subject = column_under_casts(call.args[0], scope.schema)
    number = literal.value
    if subject is None or subject[2] or not is_plain_string(subject[1]):
        return _opaque(op, call)
    if op == "<=>" or not isinstance(number, int) or abs(number) > _LONGEST_PATTERN:
        return _opaque(op, call)

    def at_least(length: int) -> Predicate:
        wild = "_" * max(length, 0) + "%"
        kind, pattern = simplify_like(wild, "\\") or ("like", wild)
        return TextMatch(subject[0], subject[1], kind, pattern)

    above = at_least(number + 1)
    return {
        ">=": at_least(number),
        ">": above,
        "<": negation(at_least(number)),
        "<=": negation(above),
        "=": conjunction(at_least(number), negation(above)),
    }[op]


def _total(kind: DataType, chain: tuple[DataType, ...]) -> bool:
    """Whether the casts never turn a value into null."""
    if not chain:
        return True
    domain = domain_of(kind)
    if domain is None or any(domain_of(k) is None and not is_floating(k) for k in chain):
        return kind_of(kind) == "float" and [kind_of(k) for k in chain] == ["double"]
    return all(is_floating(k) for k in chain) or bool(
        solve("<=", kind, chain, 0, chain[-1]) if not is_floating(chain[-1]) else True
    )


def _in(node: In, scope: Scope) -> Predicate:
    subject = column_under_casts(node.value, scope.schema)
    if subject is None or not all(isinstance(item, Literal) for item in node.items):
        return _opaque("IN", node.value, *node.items)
    path, kind, _ = subject
    if not node.items:
        return FALSE
    literals = [item for item in node.items if isinstance(item, Literal)]
    or_null = any(item.value is None for item in literals)
    values: list[Any] = []
    ranges: list[Predicate] = []
    for item in literals:
        if item.value is None:
            continue
        test = compare_column("=", subject, item, utc=scope.utc)
        if test is None:
            return _opaque("IN", node.value)
        if isinstance(test, OneOf):
            values.extend(test.values)
        else:
            ranges.append(test)
    unique = tuple({order_key(v): v for v in values}.values())
    listed = OneOf(path, kind, unique, or_null)
    return disjunction(listed, *ranges) if ranges else listed


def _among(node: Among, scope: Scope) -> Predicate:
    subject = column_under_casts(node.value, scope.schema)
    kind = node.type
    # equal values of these kinds are equal in Python
    is_plain = kind_of(kind) in WHOLE or is_plain_string(kind)
    if is_plain and subject is not None and subject[1] == kind and not subject[2]:
        return OneOf(subject[0], kind, tuple(dict.fromkeys(node.values)))
    if subject is not None and subject[2] == (kind,) and _is_wider(kind, subject[1]):
        domain = domain_of(subject[1])
        assert domain is not None
        within = (value for value in node.values if domain.low <= value <= domain.high)
        return OneOf(subject[0], subject[1], tuple(dict.fromkeys(within)))
    if subject is not None and not scope.utc and _is_in_zone(kind, subject):
        return _near_days(subject, node.values)
    return _in(In(node.value, tuple(Literal(value, kind) for value in node.values)), scope)


def _is_in_zone(kind: DataType, subject: Subject) -> bool:
    """Whether dates are compared with timestamps in a time zone."""
    _, column, chain = subject
    return kind_of(column) == "date" and chain == (kind,) and crosses_zone(column, chain)


def _near_days(subject: Subject, values: Iterable[int]) -> Predicate:
    """The dates that may begin at some timestamps: no zone is a whole day from UTC."""
    path, kind, _ = subject
    days = {micros // DAY_MICROS for micros in values}
    near = sorted({day + slack for day in days for slack in (-1, 0, 1)})
    return Approximate(OneOf(path, kind, tuple(near)), Not(Missing(path, kind)))


def _is_wider(kind: DataType, other: DataType) -> bool:
    """Whether both are integers and one has all values of the other."""
    bits, less = INTEGRAL_BITS.get(kind_of(kind)), INTEGRAL_BITS.get(kind_of(other))
    return bits is not None and less is not None and bits >= less


def _is_null(expr: Expr, scope: Scope) -> Predicate:
    if isinstance(expr, Literal):
        return Constant(expr.value is None)
    subject = column_under_casts(expr, scope.schema)
    if subject is None or not _total(subject[1], subject[2]):
        return _opaque("IS_NULL", expr)
    return Missing(subject[0], subject[1])


def _text_test(node: TextTest, scope: Scope) -> Predicate:  # noqa: PLR0911
    subject = column_under_casts(node.value, scope.schema)
    pattern = node.pattern
    if subject is None and isinstance(node.value, Call) and node.value.name == "LOWER":
        return _lower_test(node, node.value, scope)
    if subject is None or not isinstance(pattern, Literal):
        return _opaque(node.kind, node.value, node.pattern)
    path, kind, chain = subject
    if pattern.value is None:
        return UNKNOWN
    if chain or not is_plain_string(kind) or not is_plain_string(pattern.type):
        return _opaque(node.kind, node.value)
    if node.kind != "like":
        return TextMatch(path, kind, node.kind, pattern.value)
    simple = simplify_like(pattern.value, node.escape)
    if simple is None:
        return _opaque("LIKE", node.value)
    if simple[0] == "equals":
        return OneOf(path, kind, (simple[1],))
    return TextMatch(path, kind, *simple)


def _lower_test(node: TextTest, lower: Call, scope: Scope) -> Predicate:
    """A predicate on `lower(column)`: exact for ASCII, otherwise approximate."""
    opaque = _opaque(node.kind, node.value, node.pattern)
    subject = column_under_casts(lower.args[0], scope.schema)
    text = node.pattern.value if isinstance(node.pattern, Literal) else None
    if subject is None or subject[2] or not is_plain_string(subject[1]):
        return opaque
    if node.kind not in ("prefix", "suffix", "contains", "like") or not isinstance(text, str):
        return opaque
    simple = simplify_like(text, node.escape) if node.kind == "like" else (node.kind, text)
    if simple is None:
        return opaque
    if not simple[1]:
        # only the empty string has an empty lower case
        empty = OneOf(subject[0], subject[1], ("",))
        return empty if simple[0] == "equals" else TextMatch(subject[0], subject[1], *simple)
    written = in_any_case(*simple)
    if written is not None:
        return TextMatch(subject[0], subject[1], "expression", written)
    known = simple[1] if simple[0] != "like" else ""
    return Approximate(Holding(subject[0], subject[1], known), opaque)


def _array_contains(node: ArrayContains, scope: Scope) -> Predicate:
    subject = column_under_casts(node.array, scope.schema)
    item = node.item
    if subject is None or subject[2] or not isinstance(item, Literal):
        return _opaque("ARRAY_CONTAINS", node.array, node.item)
    path, kind, _ = subject
    if item.value is None:
        return UNKNOWN
    if not isinstance(kind, Array) or kind_of(kind.element) != kind_of(item.type):
        return _opaque("ARRAY_CONTAINS", node.array)
    value = to_float32(item.value) if kind_of(kind.element) == "float" else item.value
    if kind_of(kind.element) == "decimal" and kind.element != item.type:
        return _opaque("ARRAY_CONTAINS", node.array)
    if kind_of(kind.element) == "string" and not is_plain_string(kind.element):
        return _opaque("ARRAY_CONTAINS", node.array)
    return HasElement(path, kind, value)
