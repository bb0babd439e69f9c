"""The predicate tree. `parse_predicate` reads what the hooks send, without a schema.

Comparisons hold expressions (a column, a literal, a call such as a cast). `binding.bind` turns them
into predicates on one column with plain values, or into `Opaque` if only Spark can evaluate them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.expr.values import decode, decode_all
from indextables.model.types import DataType, parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Path = tuple[str, ...]
ALL_FIELDS: Path = ()


@dataclass(frozen=True)
class Column:
    """A column, or a member inside struct columns."""

    path: Path


@dataclass(frozen=True)
class Literal:
    """A constant; `value` has the form that `values.decode` returns."""

    value: Any
    type: DataType


@dataclass(frozen=True)
class Call:
    """Any other expression; casts have their target type, EXTRACT has the field in its name."""

    name: str
    args: tuple[Expr, ...]
    type: DataType | None = None


Expr = Column | Literal | Call


@dataclass(frozen=True)
class And:
    """All hold."""

    args: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or:
    """At least one holds."""

    args: tuple[Predicate, ...]


@dataclass(frozen=True)
class Not:
    """Does not hold; unknown stays unknown."""

    arg: Predicate


@dataclass(frozen=True)
class Constant:
    """True, false or (None) unknown for every row."""

    value: bool | None


@dataclass(frozen=True)
class Compare:
    """A comparison with one of `=`, `<`, `<=`, `>`, `>=`, `<=>`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class In:
    """Equal to one of the items."""

    value: Expr
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Among:
    """Equal to one of many values of one type, such as the keys of a join; none of them is null."""

    value: Expr
    type: DataType
    values: tuple[Any, ...]


@dataclass(frozen=True)
class IsNull:
    """Is null; never unknown."""

    arg: Expr


@dataclass(frozen=True)
class TextTest:
    """A string against a pattern; `kind` is prefix, suffix, contains, like or regex."""

    kind: str
    value: Expr
    pattern: Expr
    escape: str = "\\"


@dataclass(frozen=True)
class ArrayContains:
    """An element of the array equals the item."""

    array: Expr
    item: Expr


@dataclass(frozen=True)
class Search:
    """A query in the search language; `mode` is any, text or exact; no path means all fields.

    It is true or false, never unknown: a row without a value has none of the words.
    """

    mode: str
    path: Path
    query: str


@dataclass(frozen=True)
class Opaque:
    """A predicate that only Spark can evaluate; `searches` are the search predicates inside it."""

    name: str
    columns: frozenset[Path] = frozenset()
    searches: tuple[Search, ...] = ()


@dataclass(frozen=True)
class Bound:
    """One end of a range."""

    value: Any
    inclusive: bool


@dataclass(frozen=True)
class Range:
    """Bound form: a value lies between two ends in Spark's order; unknown for null."""

    path: Path
    type: DataType
    lower: Bound | None
    upper: Bound | None


@dataclass(frozen=True)
class OneOf:
    """Bound form: a value is one of these; `or_null` when the list also held a null."""

    path: Path
    type: DataType
    values: tuple[Any, ...]
    or_null: bool = False


@dataclass(frozen=True)
class TextMatch:
    """Bound form: a string column against a constant pattern.

    `kind` is one of `TextTest`, or expression: a regular expression in the engine's syntax.
    """

    path: Path
    type: DataType
    kind: str
    pattern: str


@dataclass(frozen=True)
class Holding:
    """Bound form: a string column may contain a string in any case."""

    path: Path
    type: DataType
    text: str


@dataclass(frozen=True)
class Missing:
    """Bound form: the column is null."""

    path: Path
    type: DataType


@dataclass(frozen=True)
class HasElement:
    """Bound form: an array column holds this element."""

    path: Path
    type: DataType
    value: Any


@dataclass(frozen=True)
class Approximate:
    """Bound form: a predicate that only Spark can evaluate, approximated from both sides.

    Every row for which it is true passes `true`, every row for which it is false passes `false`.
    """

    true: Predicate
    false: Predicate


Leaf = Range | OneOf | TextMatch | Holding | Missing | HasElement | Approximate
Predicate = (
    And | Or | Not | Constant | Compare | In | Among | IsNull | TextTest | ArrayContains | Search
    | Opaque | Leaf
)  # fmt: skip
TRUE = Constant(value=True)
FALSE = Constant(value=False)
UNKNOWN = Constant(value=None)

_COMPARISONS = {"=", "<", "<=", ">", ">=", "<=>"}
_TEXT_TESTS = {
    "STARTS_WITH": "prefix",
    "ENDS_WITH": "suffix",
    "CONTAINS": "contains",
    "LIKE": "like",
    "RLIKE": "regex",
}
SEARCH_MODES = {"indexquery": "any", "textsearch": "text", "fieldmatch": "exact"}
_ALL_NAMES = {("_indexall",), ("*",)}


def parse_predicate(value: dict[str, Any]) -> Predicate:  # noqa: PLR0911 (one per kind)
    """The predicate the hooks wrote as this JSON value."""
    if "op" not in value:
        # a boolean column or constant standing alone
        return _truth(parse_expression(value))
    name, args = str(value["op"]), value.get("args", [])
    if name in _COMPARISONS:
        return Compare(name, parse_expression(args[0]), parse_expression(args[1]))
    if name in ("<>", "!="):
        return Not(Compare("=", parse_expression(args[0]), parse_expression(args[1])))
    if name in _TEXT_TESTS:
        return _text_test(_TEXT_TESTS[name], value)
    if name.lower() in _SEARCHES:
        return _search(name.lower(), args)
    if "values" in value:
        return _listed(value)
    build = _BUILDERS.get(name)
    return build(args) if build else _opaque(value)


def parse_expression(value: dict[str, Any]) -> Expr:
    """The expression the hooks wrote as this JSON value."""
    if "col" in value:
        return Column(tuple(value["col"]))
    if "lit" in value:
        literal_type = read_type(value.get("type", "void"))
        return Literal(decode(value["lit"], literal_type), literal_type)
    kind = read_type(value["type"]) if "type" in value else None
    args = tuple(parse_expression(arg) for arg in value.get("args", []))
    name = str(value.get("op", "?"))
    return Call(f"{name}_{value['field']}" if "field" in value else name, args, kind)


def read_type(text: Any, column: str = "?") -> DataType:
    """A type as the hooks write it: Spark's JSON value, or the text of it."""
    if isinstance(text, str) and text[:1] in ('"', "{"):
        text = json.loads(text)
    return parse_type(text, column)


def _truth(expr: Expr) -> Predicate:
    if isinstance(expr, Literal):
        return Constant(expr.value)
    return Compare("=", expr, Literal(value=True, type=parse_type("boolean")))


def _listed(value: dict[str, Any]) -> Predicate:
    """The keys of a join: many values of one type, written without it.

    A null among them matches rows without a value: Spark lists the partitions that a row-level
    command touches this way.
    """
    kind, subject = read_type(value["type"]), parse_expression(value["args"][0])
    known = [item for item in value["values"] if item is not None]
    among = Among(subject, kind, tuple(decode_all(known, kind)))
    return among if len(known) == len(value["values"]) else Or((among, IsNull(subject)))


def _text_test(kind: str, value: dict[str, Any]) -> Predicate:
    args = value["args"]
    escape = value.get("escape", "\\")
    if len(args) > 2:  # noqa: PLR2004 (a third argument is the escape character)
        escape = args[2].get("lit", escape)
    return TextTest(kind, parse_expression(args[0]), parse_expression(args[1]), escape)


def _search(name: str, args: list[dict[str, Any]]) -> Predicate:
    return _build_search(name, tuple(parse_expression(arg) for arg in args))


def _build_search(name: str, args: tuple[Expr, ...]) -> Predicate:
    mode = SEARCH_MODES[name.removesuffix("all")]
    query = args[-1]
    target = args[0] if len(args) > 1 else Column(ALL_FIELDS)
    if isinstance(target, Literal) and isinstance(target.value, str):
        target = Column(tuple(target.value.split(".")))
    if not isinstance(query, Literal) or not isinstance(target, Column):
        return Opaque(name, searches=(Search(mode, ALL_FIELDS, "?"),))
    if query.value is None:
        return UNKNOWN
    path = ALL_FIELDS if name.endswith("all") or target.path in _ALL_NAMES else target.path
    return Search(mode, path, str(query.value))


def search_of(call: Call) -> list[Search]:
    """Return the search predicate of a call, or None if it is not a search."""
    name = call.name.lower()
    if name not in _SEARCHES:
        return []
    found = _build_search(name, call.args)
    return [found] if isinstance(found, Search) else list(getattr(found, "searches", ()))


def _opaque(value: dict[str, Any]) -> Opaque:
    searches: list[Search] = []
    columns: set[Path] = set()
    for node in _nodes(value):
        if "col" in node:
            columns.add(tuple(node["col"]))
        if str(node.get("op", "")).lower() in _SEARCHES:
            found = _search(str(node["op"]).lower(), node["args"])
            if isinstance(found, Search):
                searches.append(found)
    return Opaque(str(value["op"]), frozenset(columns), tuple(searches))


def _nodes(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield value
    for arg in value.get("args", []):
        yield from _nodes(arg)


_SEARCHES = {name + tail for name in SEARCH_MODES for tail in ("", "all")}
_BUILDERS: dict[str, Callable[[list[dict[str, Any]]], Predicate]] = {
    "AND": lambda args: And(tuple(parse_predicate(a) for a in args)),
    "OR": lambda args: Or(tuple(parse_predicate(a) for a in args)),
    "NOT": lambda args: Not(parse_predicate(args[0])),
    "ALWAYS_TRUE": lambda _: TRUE,
    "ALWAYS_FALSE": lambda _: FALSE,
    "BOOLEAN_EXPRESSION": lambda args: parse_predicate(args[0]),
    "IS_NULL": lambda args: IsNull(parse_expression(args[0])),
    "IS_NOT_NULL": lambda args: Not(IsNull(parse_expression(args[0]))),
    "IN": lambda args: In(parse_expression(args[0]), tuple(parse_expression(a) for a in args[1:])),
    "ARRAY_CONTAINS": lambda args: ArrayContains(
        parse_expression(args[0]), parse_expression(args[1])
    ),
}


def walk(predicate: Predicate) -> Iterator[Predicate]:
    """All nodes of a tree, the root first."""
    yield predicate
    if isinstance(predicate, And | Or):
        for arg in predicate.args:
            yield from walk(arg)
    elif isinstance(predicate, Not):
        yield from walk(predicate.arg)
    elif isinstance(predicate, Approximate):
        yield from walk(predicate.true)
        yield from walk(predicate.false)


def map_searches(predicate: Predicate, change: Callable[[Search], Search]) -> Predicate:
    """The tree with every search predicate changed; opaque parts stay."""
    if isinstance(predicate, And | Or):
        args = tuple(map_searches(arg, change) for arg in predicate.args)
        return And(args) if isinstance(predicate, And) else Or(args)
    if isinstance(predicate, Not):
        return Not(map_searches(predicate.arg, change))
    return change(predicate) if isinstance(predicate, Search) else predicate


def searches_in(predicate: Predicate) -> list[Search]:
    """Every search predicate of a tree, also those inside opaque parts."""
    found: list[Search] = []
    for node in walk(predicate):
        if isinstance(node, Search):
            found.append(node)
        elif isinstance(node, Opaque):
            found.extend(node.searches)
    return found
