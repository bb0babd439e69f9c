"""Parse conditions and WHERE clauses without Spark.

Comparisons, IN, BETWEEN, LIKE, ILIKE, RLIKE, IS NULL, AND, OR, NOT over columns and literals;
searches, except where partitions are chosen.
Literals take the type of the column they are compared with, as Spark would make them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import TYPE_CHECKING, Any, ClassVar, cast

from indextables.errors import error
from indextables.expr.cursor import Cursor
from indextables.expr.literals import parse_literal
from indextables.expr.predicate import (
    ALL_FIELDS,
    SEARCH_MODES,
    And,
    Call,
    Column,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    Search,
    TextTest,
)
from indextables.expr.tokens import Kind, tokenize
from indextables.expr.values import FLOATING, INTEGRAL_BITS, kind_of
from indextables.model.types import Array, Atomic, DataType, Decimal, Map, Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_STRING = Atomic("string")
_OPERATORS = {"=": "=", "==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_NOT_EQUAL = ("<>", "!=")
_SIGNS = ("<", ">", "=", "!")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FUNCTIONS = {"STARTSWITH": "prefix", "ENDSWITH": "suffix", "CONTAINS": "contains"}
_SEARCH_ALL = "INDEXQUERYALL"
# words before a string that say what it is
_TYPED = ("DATE", "TIMESTAMP")
# a number as Spark writes it; the suffix names its type, which here is that of the column
_NUMBER = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?:[LSYD]|BD)?(?![\w.])", re.IGNORECASE)
# digits of a long before the point of a decimal, and what is left for those after it
_LONG_DIGITS, _MOST_SCALE = 20, 18


@dataclass(frozen=True)
class _Text:
    """A literal before its type is known: `value` as written, `quoted` if it is a string."""

    value: str
    quoted: bool


_Operand = Column | _Text | None


def parse_where(text: str, schema: Struct) -> Predicate:
    """The predicate written as this text over the columns of a table."""
    return _parse(_Parser(text, tokenize(text), schema=schema))


def parse_partition_where(text: str, schema: Struct) -> Predicate:
    """The same for predicates on partition columns only, with errors that say so."""
    return _parse(_PartitionParser(text, tokenize(text), schema=schema))


def _parse(parser: _Parser) -> Predicate:
    found = parser.disjunction()
    parser.need("the end", found=parser.peek.kind is Kind.END)
    return found


@dataclass
class _Parser(Cursor):
    schema: Struct = field(kw_only=True)
    searches: ClassVar[Mapping[str, str]] = {k.upper(): mode for k, mode in SEARCH_MODES.items()}

    def error(self, problem: str) -> Exception:
        """The error of a predicate that cannot be parsed."""
        return error("CONDITION_INVALID", where=self.text, problem=problem)

    def disjunction(self) -> Predicate:
        parts = [self.conjunction()]
        while self.takes("OR"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def conjunction(self) -> Predicate:
        parts = [self.negation()]
        while self.takes("AND"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def negation(self) -> Predicate:
        begin = self.peek.spelled
        if begin in ("NOT", "!"):
            self.take()
            return Not(self.negation())
        if begin == "(":
            self.take()
            inner = self.disjunction()
            self.take_symbol(")")
            return inner
        return self.test()

    def test(self) -> Predicate:
        function = _FUNCTIONS.get(self.peek.word)
        if function and self.tokens[self.at + 1].is_symbol("("):
            return self.function(function)
        if self.searches and self.takes(_SEARCH_ALL):
            return self.search_all()
        left = self.operand()
        if self.takes("IS"):
            negated = self.takes("NOT")
            test = self.distinct(left) if self.takes("DISTINCT") else self.null(left)
            return Not(test) if negated else test
        negated = self.takes("NOT")
        word = self.peek.spelled
        if word in _TESTS or word in self.searches:
            self.take()
            column = self.column(left)
            test = _TESTS[word](self, column) if word in _TESTS else self.search(word, column)
            return Not(test) if negated else test
        self.need("IN, BETWEEN, LIKE, ILIKE or RLIKE", found=not negated)
        return self.comparison(left)

    def null(self, left: _Operand) -> Predicate:
        self.need("NULL", found=self.takes("NULL"))
        return IsNull(self.column(left))

    def distinct(self, left: _Operand) -> Predicate:
        self.need("FROM", found=self.takes("FROM"))
        subject, (value,) = self.typed(self.column(left), self.operand())
        return Not(Compare("<=>", subject, value))

    def like(self, column: Column) -> Predicate:
        return TextTest("like", column, self.pattern())

    def regex(self, column: Column) -> Predicate:
        return TextTest("regex", column, self.pattern())

    def search(self, word: str, column: Column) -> Predicate:
        return Search(self.searches[word], column.path, self.pattern().value)

    def search_all(self) -> Predicate:
        self.take_symbol("(")
        text = self.pattern().value
        self.take_symbol(")")
        return Search("any", ALL_FIELDS, text)

    def in_any_case(self, column: Column) -> Predicate:
        pattern = self.pattern()
        if not pattern.value.isascii():
            raise self.error("ILIKE takes a text of ASCII characters here")
        lower = Call("LOWER", (column,), _STRING)
        return TextTest("like", lower, Literal(pattern.value.lower(), _STRING))

    def function(self, kind: str) -> Predicate:
        self.at += 2
        column = self.column(self.operand())
        self.take_symbol(",")
        pattern = self.pattern()
        self.take_symbol(")")
        return TextTest(kind, column, pattern)

    def pattern(self) -> Literal:
        self.need("a text in quotes", found=self.peek.kind is Kind.STRING)
        return Literal(self.take().value, _STRING)

    def one_of(self, column: Column) -> Predicate:
        self.take_symbol("(")
        given = [self.operand()]
        while self.takes(","):
            given.append(self.operand())
        self.take_symbol(")")
        subject, items = self.typed(column, *given)
        return In(subject, items)

    def between(self, column: Column) -> Predicate:
        least = self.operand()
        self.need("AND", found=self.takes("AND"))
        subject, (low, high) = self.typed(column, least, self.operand())
        return And((Compare(">=", subject, low), Compare("<=", subject, high)))

    def comparison(self, left: _Operand) -> Predicate:
        operator = self.operator()
        if not operator:
            column = self.column(left)
            self.need("a comparison", found=kind_of(self.type_of(column)) == "boolean")
            return Compare("=", column, Literal(True, self.type_of(column)))  # noqa: FBT003
        right = self.operand()
        if not isinstance(left, Column):
            left, right, operator = right, left, _FLIPPED.get(operator, operator)
        subject, (value,) = self.typed(self.column(left), right)
        if operator in _NOT_EQUAL:
            return Not(Compare("=", subject, value))
        return Compare(_OPERATORS[operator], subject, value)

    def operator(self) -> str:
        start, end = self.at, self.peek.start
        text = ""
        while self.peek.spelled in _SIGNS and self.peek.start == end:
            end = self.peek.end
            text += self.take().value
        if text and text not in _OPERATORS and text not in _NOT_EQUAL:
            self.at = start
            raise self.error(f"`{text}` is not a comparison")
        return text

    def operand(self) -> _Operand:  # noqa: PLR0911 (one per kind)
        token = self.peek
        if token.kind is Kind.STRING:
            return _Text(self.take().value, quoted=True)
        if self.takes("-"):
            return _Text("-" + self.number(), quoted=False)
        if token.spelled[:1].isdigit() or token.is_symbol("."):
            return _Text(self.number(), quoted=False)
        if token.kind is Kind.WORD:
            if token.spelled in ("TRUE", "FALSE"):
                return _Text(self.take().value, quoted=False)
            if self.takes("NULL"):
                return None
            if token.spelled in _TYPED and self.tokens[self.at + 1].kind is Kind.STRING:
                self.take()
                return _Text(self.take().value, quoted=True)
        self.need("a column or a value", found=token.kind in (Kind.WORD, Kind.QUOTED))
        return self.name()

    def number(self) -> str:
        """The number at this place, which is several tokens if it has a point or an exponent."""
        found = _NUMBER.match(self.text, self.peek.start)
        self.need("a number", found=found is not None)
        assert found is not None
        while self.peek.start < found.end():
            self.take()
        return found[1]

    def name(self) -> Column:
        if self.tokens[self.at + 1].is_symbol("("):
            raise self.error(f"the function `{self.peek.value}` is not understood here")
        return Column(self.column_path(self.schema))

    def column(self, operand: _Operand) -> Column:
        if not isinstance(operand, Column):
            raise self.error("one side of a test must be a column")
        return operand

    def type_of(self, column: Column) -> DataType:
        found = self.schema.find(column.path)
        assert found is not None
        return found.type

    def typed(self, column: Column, *operands: _Operand) -> tuple[Expr, tuple[Literal, ...]]:
        """A column and constants as they are compared: whole numbers with fractions as decimals."""
        kind, subject = self.type_of(column), cast("Expr", column)
        if isinstance(kind, Array | Map | Struct):
            raise self.error("a nested column is not compared as a whole")
        if kind_of(kind) in INTEGRAL_BITS and (scale := max(map(_scale, operands))):
            kind = Decimal(_LONG_DIGITS + scale, scale)
            subject = Call("CAST", (column,), kind)
        return subject, tuple(self.literal(operand, kind) for operand in operands)

    def literal(self, operand: _Operand, kind: DataType) -> Literal:
        if operand is None:
            return Literal(None, kind)
        if isinstance(operand, Column):
            raise self.error("two columns cannot be compared here")
        try:
            return Literal(_value(operand, kind), kind)
        except (KeyError, ValueError, ArithmeticError):
            shown = kind.to_json()
            raise self.error(f"`{operand.value}` is not a value of type {shown}") from None


# what follows a column
_TESTS: Mapping[str, Callable[[_Parser, Column], Predicate]] = {
    "IN": _Parser.one_of,
    "BETWEEN": _Parser.between,
    "LIKE": _Parser.like,
    "ILIKE": _Parser.in_any_case,
    "RLIKE": _Parser.regex,
}


@dataclass
class _PartitionParser(_Parser):
    searches: ClassVar[Mapping[str, str]] = {}

    def error(self, problem: str) -> Exception:
        """The error of a predicate that cannot be parsed."""
        shown = f"Invalid partition predicate: {self.text} ({problem})"
        return error("PARTITION_PREDICATE", problem=shown)


def _scale(operand: _Operand) -> int:
    """Digits after the point of a number that is not whole; 0 for all else."""
    if not isinstance(operand, _Text) or operand.quoted or operand.value.isdecimal():
        return 0
    try:
        exponent = Number(operand.value).normalize().as_tuple().exponent
    except ArithmeticError:
        return 0
    digits = -exponent if isinstance(exponent, int) else 0
    return digits if 0 < digits <= _MOST_SCALE else 0


def _value(text: _Text, kind: DataType) -> Any:
    """The value of a literal in the type of its column."""
    name = kind_of(kind)
    if name == "string":
        if not text.quoted:
            raise ValueError(text.value)
        return text.value
    if name in INTEGRAL_BITS:
        number = Number(text.value.strip())
        if number != number.to_integral_value():
            raise ValueError(text.value)
        return int(number)
    if name in FLOATING:
        return float(text.value)
    return parse_literal(text.value, kind)
