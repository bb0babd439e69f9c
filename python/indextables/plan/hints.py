"""Why a query may find nothing: text compared as a whole, whole values searched by word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from indextables.expr.predicate import OneOf, Search, walk
from indextables.plan.columns import field_name
from indextables.plan.scan import PATTERNS, has_index, leaves_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indextables.expr.predicate import Predicate
    from indextables.plan.columns import Columns
    from indextables.plan.scan import ScanPlan
    from indextables.plan.tree import Tree

# a query of plain words, which is not meant as a whole value
_WORDS = re.compile(r"[\w.-]+(?:\s+[\w.-]+)*")


def find_hints(predicates: Iterable[Predicate], columns: Columns) -> tuple[str, ...]:
    """Hints for bound predicates, without repetition."""
    found: dict[str, None] = {}
    for predicate in predicates:
        for node in walk(predicate):
            hint = _hint(node, columns)
            if hint is not None:
                found[hint] = None
    return tuple(found)


def scanned_columns(plan: ScanPlan, columns: Columns) -> tuple[str, ...]:
    """The text columns whose every value is read, because they have no trigrams."""
    leaves = [leaf for query in plan.queries for leaf in leaves_of(query)]
    found = dict.fromkeys(leaf["field"] for leaf in leaves if _is_scan(leaf, columns))
    return tuple(found)


def _is_scan(leaf: Tree, columns: Columns) -> bool:
    info = columns.get(leaf.get("field", ""))
    text = info is not None and info.role == "text"
    return text and leaf["type"] in PATTERNS and not has_index(leaf, columns)


def _hint(node: Predicate, columns: Columns) -> str | None:
    if isinstance(node, OneOf) and node.values:
        info = columns.at(node.path)
        if info is not None and info.tokenized:
            return (
                f"`{info.name} = ...` compares the whole text; "
                f"`{info.name} indexquery '...'` finds words"
            )
    if isinstance(node, Search) and node.path and _WORDS.fullmatch(node.query.strip()):
        info = columns.at(node.path)
        if info is not None and info.role == "string":
            name = field_name(node.path)
            return (
                f"`{name}` is indexed as whole values, so `indexquery` finds equal values only; "
                f"write `indexing.typemap.{name}=text` to find words in it"
            )
    return None
