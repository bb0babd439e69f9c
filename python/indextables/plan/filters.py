"""Which predicates the index answers, and the query that answers them.

A predicate is `exact` if the engine finds the same rows as Spark, `superset` if the engine only
narrows and Spark must filter again, `no` if the index cannot answer it. SQL's unknown is resolved
here: each predicate has a set of rows where it is true and one where it is false, and NOT swaps the
two, so the engine needs only plain set algebra.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.expr.binding import bind, conjunction
from indextables.expr.predicate import (
    And,
    Approximate,
    Constant,
    HasElement,
    Holding,
    Missing,
    Not,
    OneOf,
    Opaque,
    Or,
    Predicate,
    Range,
    Search,
    TextMatch,
    map_searches,
    walk,
)
from indextables.expr.regexes import translate_regex
from indextables.expr.values import NESTED, WHOLE, encode, encode_all, kind_of
from indextables.model.strings import is_valid, to_bytes
from indextables.model.types import Array
from indextables.plan.columns import Columns, field_name
from indextables.plan.scan import has_index
from indextables.plan.search import settle_search
from indextables.plan.tree import ALL, NONE, Tree, both, complement, either

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

EXACT, SUPERSET, NO = "exact", "superset", "no"
# longer strings are not in the term dictionary
_MAX_TERM_BYTES = 65_530


@dataclass(frozen=True)
class Part:
    """A set of rows as a query, and how exactly it describes them."""

    tree: Tree
    grade: str


@dataclass(frozen=True)
class FilterPlan:
    """How predicates are answered.

    `pushed` has one grade per predicate; `query` is all that is pushed, including predicates on
    partition columns (`queries.split_queries` resolves these per split); `pruning` is their AND.
    """

    pushed: tuple[str, ...]
    query: Tree
    pruning: Predicate
    partition_only: bool
    bound: tuple[Predicate, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether Spark has nothing left to check."""
        return all(grade == EXACT for grade in self.pushed)

    @property
    def chooses(self) -> bool:
        """Whether there is a predicate other than IS NOT NULL."""
        return any(not _asks_presence(predicate) for predicate in self.bound)


def _asks_presence(predicate: Predicate) -> bool:
    return isinstance(predicate, Not) and isinstance(predicate.arg, Missing)


def plan_filters(
    predicates: Sequence[Predicate],
    columns: Columns,
    max_unqualified: int = 0,
    check_query: Callable[[str, list[str]], object] | None = None,
    time_zone: str = "",
) -> FilterPlan:
    """Grade predicates (as parsed) and build the query.

    `check_query` parses a search query against default fields and raises its errors.
    `time_zone` is the session's: where it is UTC, casts between dates and times are exact.
    """

    def settle(search: Search) -> Search:
        return settle_search(search, columns, max_unqualified, check_query)

    bound = [
        map_searches(bind(predicate, columns.schema, time_zone), settle) for predicate in predicates
    ]
    for predicate in bound:
        for node in walk(predicate):
            for search in node.searches if isinstance(node, Opaque) else ():
                settle(search)
    parts = [_true(predicate, columns) for predicate in bound]
    return FilterPlan(
        tuple(_worth(p, part, columns) for p, part in zip(bound, parts, strict=True)),
        both([part.tree for part in parts if part.grade != NO]),
        conjunction(*bound),
        all(_on_partitions(predicate, columns) for predicate in bound),
        tuple(bound),
    )


def _worth(predicate: Predicate, part: Part, columns: Columns) -> str:
    """The grade to report: a predicate that the index cannot answer may still prune splits."""
    if part.grade != NO:
        return part.grade
    for node in walk(predicate):
        if isinstance(node, Range | OneOf | TextMatch | Missing):
            info = columns.at(node.path)
            if info is not None and (info.partition or not isinstance(node, Missing)):
                return SUPERSET
    return NO


def query_for(plan: FilterPlan, columns: Columns, truths: Mapping[Predicate, bool | None]) -> Tree:
    """The query of a split for which the truth of its partition tests is known."""
    parts = [_true(_substitute(predicate, truths), columns) for predicate in plan.bound]
    return both([part.tree for part in parts if part.grade != NO])


def _substitute(predicate: Predicate, truths: Mapping[Predicate, bool | None]) -> Predicate:
    if predicate in truths:
        return Constant(truths[predicate])
    if isinstance(predicate, And | Or):
        args = tuple(_substitute(arg, truths) for arg in predicate.args)
        return And(args) if isinstance(predicate, And) else Or(args)
    if isinstance(predicate, Not):
        return Not(_substitute(predicate.arg, truths))
    if isinstance(predicate, Approximate):
        return Approximate(
            _substitute(predicate.true, truths), _substitute(predicate.false, truths)
        )
    return predicate


def _on_partitions(predicate: Predicate, columns: Columns) -> bool:
    """Whether a predicate is decided by partition values alone."""
    for node in walk(predicate):
        if isinstance(node, Opaque | Search | Approximate):
            return False
        if isinstance(node, Range | OneOf | TextMatch | Missing | HasElement):
            info = columns.at(node.path)
            if info is None or not info.partition:
                return False
    return True


def _true(predicate: Predicate, columns: Columns) -> Part:
    """The rows for which a predicate is true."""
    if isinstance(predicate, And):
        return _all_of([_true(arg, columns) for arg in predicate.args])
    if isinstance(predicate, Or):
        return _any_of([_true(arg, columns) for arg in predicate.args])
    if isinstance(predicate, Not):
        return _false(predicate.arg, columns)
    if isinstance(predicate, Constant):
        return Part(ALL if predicate.value else NONE, EXACT)
    return _leaf(predicate, columns, wanted=True)


def _false(predicate: Predicate, columns: Columns) -> Part:
    """The rows for which a predicate is false (not: unknown)."""
    if isinstance(predicate, And):
        return _any_of([_false(arg, columns) for arg in predicate.args])
    if isinstance(predicate, Or):
        return _all_of([_false(arg, columns) for arg in predicate.args])
    if isinstance(predicate, Not):
        return _true(predicate.arg, columns)
    if isinstance(predicate, Constant):
        return Part(ALL if predicate.value is False else NONE, EXACT)
    return _leaf(predicate, columns, wanted=False)


def _all_of(parts: list[Part]) -> Part:
    useful = [part for part in parts if part.grade != NO]
    if not useful and parts:
        return Part(ALL, NO)
    tree = both([part.tree for part in useful])
    exact = len(useful) == len(parts) and all(part.grade == EXACT for part in useful)
    return Part(tree, EXACT if exact or tree == NONE else SUPERSET)


def _any_of(parts: list[Part]) -> Part:
    if any(part.grade == NO for part in parts):
        return Part(ALL, NO)
    exact = all(part.grade == EXACT for part in parts)
    return Part(either([part.tree for part in parts]), EXACT if exact else SUPERSET)


def _leaf(leaf: Predicate, columns: Columns, *, wanted: bool) -> Part:  # noqa: PLR0911
    if isinstance(leaf, Search):
        return _search(leaf, columns, wanted=wanted)
    if isinstance(leaf, Approximate):
        part = _true(leaf.true if wanted else leaf.false, columns)
        return part if part.grade == NO else Part(part.tree, SUPERSET)
    if isinstance(leaf, Holding):
        return _holding(leaf, columns)
    if isinstance(leaf, Missing):
        return _missing(leaf, columns, wanted=wanted)
    if isinstance(leaf, HasElement):
        return _element(leaf, columns, wanted=wanted)
    if isinstance(leaf, OneOf) and _is_address(leaf, columns):
        return _address(leaf, wanted=wanted)
    tree = _values(leaf, columns) if isinstance(leaf, Range | OneOf | TextMatch) else None
    if tree is None or not isinstance(leaf, Range | OneOf | TextMatch):
        return Part(ALL, NO)
    if wanted:
        return Part(tree, EXACT)
    if isinstance(leaf, OneOf) and leaf.or_null:
        # not equal to any, but perhaps to the unknown one
        return Part(NONE, EXACT)
    return Part(both([_exists(field_name(leaf.path)), complement(tree)]), EXACT)


def _search(leaf: Search, columns: Columns, *, wanted: bool) -> Part:
    info = columns.at(leaf.path)
    if info is not None and (info.partition or not info.indexed):
        return Part(ALL, NO)  # not in any index; Spark matches the rows
    tree: Tree = {
        "type": "search",
        "query": leaf.query,
        "fields": [field_name(leaf.path)] if leaf.path else [],
        "mode": leaf.mode,
    }
    return Part(tree if wanted else complement(tree), EXACT)


def _holding(leaf: Holding, columns: Columns) -> Part:
    tree: Tree = {"type": "trigrams", "field": field_name(leaf.path), "text": leaf.text}
    return Part(tree, SUPERSET) if has_index(tree, columns) else Part(ALL, NO)


def _missing(leaf: Missing, columns: Columns, *, wanted: bool) -> Part:
    if not columns.testable(leaf.path):
        return Part(ALL, NO)
    present = _exists(field_name(leaf.path))
    return Part(complement(present) if wanted else present, EXACT)


def _element(leaf: HasElement, columns: Columns, *, wanted: bool) -> Part:
    info = columns.at(leaf.path)
    kind = leaf.type
    if info is None or not info.readable or not columns.reachable(leaf.path):
        return Part(ALL, NO)
    if not isinstance(kind, Array) or kind_of(kind.element) in NESTED:
        return Part(ALL, NO)
    field = field_name(leaf.path)
    hit: Tree = {"type": "term", "field": field, "value": encode(leaf.value, kind.element)}
    if wanted:
        return Part(hit, EXACT)
    # an empty array inside a struct cannot be distinguished from null
    present = _exists(field) if len(leaf.path) == 1 else ALL
    exact = present is not ALL and not kind.contains_null
    return Part(both([present, complement(hit)]), EXACT if exact else SUPERSET)


def _values(leaf: Range | OneOf | TextMatch, columns: Columns) -> Tree | None:
    """The rows whose value matches; None if the index cannot tell."""
    if not columns.comparable(leaf.path):
        return None
    field = field_name(leaf.path)
    if isinstance(leaf, OneOf):
        return _one_of(leaf, field)
    if isinstance(leaf, TextMatch):
        return _text(leaf, field)
    return _range(leaf, field)


def _is_address(leaf: OneOf, columns: Columns) -> bool:
    info = columns.at(leaf.path)
    return info is not None and info.role == "ip"


def _address(leaf: OneOf, *, wanted: bool) -> Part:
    """Strings against IP addresses: an address has several forms, and Spark compares strings."""
    field = field_name(leaf.path)
    if not wanted:
        return Part(NONE, EXACT) if leaf.or_null else Part(_exists(field), SUPERSET)
    known = [value for value in leaf.values if _is_address_text(value)]
    tree = _one_of(OneOf(leaf.path, leaf.type, tuple(known)), field)
    return Part(ALL, NO) if tree is None else Part(tree, SUPERSET if known else EXACT)


def _exists(field: str) -> Tree:
    return {"type": "exists", "field": field}


def _one_of(leaf: OneOf, field: str) -> Tree | None:
    if kind_of(leaf.type) not in WHOLE and any(_too_long(value) for value in leaf.values):
        return None
    values = encode_all(leaf.values, leaf.type)
    if not values:
        return NONE
    if len(values) == 1:
        return {"type": "term", "field": field, "value": values[0]}
    return {"type": "set", "field": field, "values": values}


def _range(leaf: Range, field: str) -> Tree | None:
    if leaf.lower is None and leaf.upper is None:
        return _exists(field)
    ends: dict[str, Any] = {}
    for side, bound in (("lower", leaf.lower), ("upper", leaf.upper)):
        if bound is not None and _too_long(bound.value):
            return None
        ends[side] = bound and {
            "value": encode(bound.value, leaf.type),
            "inclusive": bound.inclusive,
        }
    return {"type": "range", "field": field, **ends}


def _text(leaf: TextMatch, field: str) -> Tree | None:
    if leaf.kind in ("regex", "like") and not is_valid(leaf.pattern):
        return None
    if leaf.kind == "expression":
        return {"type": "regex", "field": field, "pattern": leaf.pattern}
    if leaf.kind == "regex":
        pattern = translate_regex(leaf.pattern)
        return None if pattern is None else {"type": "regex", "field": field, "pattern": pattern}
    if leaf.kind == "like":
        return {"type": "like", "field": field, "pattern": leaf.pattern, "escape": "\\"}
    if not leaf.pattern:
        return _exists(field)
    return {"type": leaf.kind, "field": field, "value": encode(leaf.pattern, leaf.type)}


def _too_long(value: Any) -> bool:
    if isinstance(value, str):
        value = to_bytes(value)
    return isinstance(value, bytes) and len(value) > _MAX_TERM_BYTES


def _is_address_text(text: str) -> bool:
    """Whether a string is an IP address; no other string can be a value of the column."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text
