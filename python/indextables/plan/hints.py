"""Why a query may find nothing or read much: words, whole values and patterns of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
# tokenizers whose terms are the words of a text in lower case, and nothing else
_WORD_TOKENIZERS = ("default", "simple")
# letters and digits in any case, as ILIKE becomes
_ANY_CASE = re.compile(r"(?:\[[^\W_]+\]|[^\W_])+")


def find_hints(predicates: Iterable[Predicate], columns: Columns) -> tuple[str, ...]:
    """Hints for bound predicates, without repetition."""
    found: dict[str, None] = {}
    for predicate in predicates:
        for node in walk(predicate):
            hint = _hint(node, columns)
            if hint is not None:
                found[hint] = None
    return tuple(found)


@dataclass(frozen=True)
class Scanned:
    """The text columns that are searched for patterns which no trigrams find.

    Every value of `values` is read. The words of `words` may tell which rows match; each split
    decides, and reads every value if it does not record capitals or has too many words.
    """

    values: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join([*self.values, *(f"words or values of {name}" for name in self.words)])


def scanned_columns(plan: ScanPlan, columns: Columns, *, companion: bool) -> Scanned:
    """The text columns that patterns without trigrams are looked for in."""
    leaves = [leaf for query in plan.queries for leaf in leaves_of(query)]
    scans = [leaf for leaf in leaves if _is_scan(leaf, columns)]
    values = dict.fromkeys(
        leaf["field"] for leaf in scans if companion or not _is_in_word(leaf, columns)
    )
    words = dict.fromkeys(leaf["field"] for leaf in scans)
    return Scanned(tuple(values), tuple(name for name in words if name not in values))


def _is_scan(leaf: Tree, columns: Columns) -> bool:
    info = columns.get(leaf.get("field", ""))
    text = info is not None and info.role == "text"
    return text and leaf["type"] in PATTERNS and not has_index(leaf, columns)


def _is_in_word(leaf: Tree, columns: Columns) -> bool:
    """Whether a string is looked for that words alone can contain, and the terms are the words."""
    info = columns.get(leaf["field"])
    if info is None or not info.indexed or info.tokenizer not in _WORD_TOKENIZERS:
        return False
    if leaf["type"] == "contains":
        return str(leaf["value"]).isalnum()
    return leaf["type"] == "regex" and _ANY_CASE.fullmatch(leaf["pattern"]) is not None


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
