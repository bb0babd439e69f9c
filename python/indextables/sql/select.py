"""Parse group keys, aggregate functions and sort keys in SQL syntax, without Spark."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from indextables.expr.aggregation import Function, SortKey
from indextables.expr.clocks import clock_of
from indextables.expr.cursor import Cursor
from indextables.expr.predicate import Call, Column, Expr, Literal
from indextables.expr.tokens import Kind, syntax_error, tokenize
from indextables.expr.values import INTEGRAL_BITS, kind_of
from indextables.model.types import Atomic, DataType
from indextables.plan.bucket_calls import FORMS, NOT_CONSTANT, check_call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.model.types import Struct

T = TypeVar("T")
_STRING, _DOUBLE, _TIMESTAMP = Atomic("string"), Atomic("double"), Atomic("timestamp")
_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")
# the type given to the column of a bucket function
_SEEN_AS = {
    "indextables_histogram": _DOUBLE,
    "indextables_range": _DOUBLE,
    "indextables_date_histogram": _TIMESTAMP,
}
_BUCKETS = (*_SEEN_AS, "date_trunc", "trunc")
_SORT_KEY = re.compile(
    r"(?P<name>.*?)(?:\s+(?P<direction>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?",
    re.IGNORECASE | re.DOTALL,
)


def parse_key(text: str, schema: Struct) -> Expr:
    """A group key: a column, or a bucket such as `indextables_date_histogram(ts, '1h')`."""
    return _Parser.whole(text, schema, _Parser.key)


def parse_function(text: str, schema: Struct) -> Function:
    """An aggregate function, such as `count(*)`, `sum(amount)` or `count(distinct user)`."""
    return _Parser.whole(text, schema, _Parser.function)


def parse_sort_key(text: str, names: Sequence[str]) -> SortKey:
    """A sort key over columns of these names, such as `ts`, `ts DESC` or `ts ASC NULLS LAST`."""
    found = _SORT_KEY.fullmatch(text.strip())
    assert found is not None, text
    name = _resolve(found["name"], names)
    if name is None and (quoted := re.fullmatch("`(.*)`", found["name"], re.DOTALL)):
        name = _resolve(quoted[1].replace("``", "`"), names)
    if name is None:
        raise syntax_error(f"there is no column `{found['name']}`", text, 0)
    ascending = (found["direction"] or "ASC").upper() == "ASC"
    nulls = found["nulls"]
    # nulls are the least, as in Spark
    return SortKey(Column((name,)), ascending, nulls.upper() == "FIRST" if nulls else ascending)


def _resolve(given: str, names: Sequence[str]) -> str | None:
    """The column that is meant; case matters only if names differ by nothing else."""
    alike = [name for name in names if name.lower() == given.lower()]
    return given if given in alike else alike[0] if len(alike) == 1 else None


def _literal(value: Any) -> Literal:
    return Literal(value, _STRING if isinstance(value, str) else _DOUBLE)


@dataclass
class _Parser(Cursor):
    schema: Struct = field(kw_only=True)

    @classmethod
    def whole(cls, text: str, schema: Struct, read: Callable[[_Parser], T]) -> T:
        """The result of `read`, if nothing follows it."""
        parser = cls(text, tokenize(text), schema=schema)
        found = read(parser)
        parser.need("the end", found=parser.peek.kind is Kind.END)
        return found

    def key(self) -> Expr:
        if self.peek.kind is not Kind.WORD or not self.tokens[self.at + 1].is_symbol("("):
            return self.column()
        name = self.peek.value.lower()
        self.need(f"one of {', '.join(_BUCKETS)}", found=name in _BUCKETS)
        self.at += 2
        args = [self.argument(name)]
        while self.takes(","):
            args.append(self.argument(name))
        self.take_symbol(")")
        return self.checked(Call(name, tuple(args)))

    def checked(self, call: Call) -> Call:
        """The same call with complete, normalized arguments."""
        if call.name == "date_trunc" and len(call.args) > 2:  # noqa: PLR2004 (unit and timestamp)
            return self.zoned(call)
        if call.name not in FORMS:
            return call
        column, *others = call.args
        given = [arg.value if isinstance(arg, Literal) else NOT_CONSTANT for arg in others]
        inner = column.args[0] if isinstance(column, Call) else column
        self.need("a column as first argument", found=isinstance(inner, Column))
        assert isinstance(inner, Column)
        found = check_call(call.name, self.type_of(inner), given)
        if found.min_doc_count > 1:
            raise syntax_error("min_doc_count is for SQL; filter the groups", self.text, 0)
        return Call(call.name, (column, *(_literal(value) for value in found.arguments)))

    def zoned(self, call: Call) -> Call:
        """The call with the rules of the time zone that it names."""
        *others, zone = call.args
        named = isinstance(zone, Literal) and isinstance(zone.value, str)
        self.need("unit, timestamp and time zone", found=named and len(others) == 2)  # noqa: PLR2004
        assert isinstance(zone, Literal)
        return Call(call.name, (*others, _literal(json.dumps(clock_of(zone.value)))))

    def argument(self, name: str) -> Expr:
        if self.peek.kind is Kind.STRING:
            return Literal(self.take().value, _STRING)
        if self.takes("NULL"):
            return Literal(None, _DOUBLE)
        negative = self.takes("-")
        if negative or (self.peek.kind is Kind.WORD and self.peek.value[0].isdigit()):
            return Literal(float(("-" if negative else "") + self.number()), _DOUBLE)
        column = self.column()
        kind, seen = self.type_of(column), _SEEN_AS.get(name)
        return column if seen is None or kind == seen else Call("CAST", (column,), seen)

    def number(self) -> str:
        digits = self.take().value
        if self.takes("."):
            digits += "." + self.take().value
        self.need("a number", found=digits.replace(".", "", 1).isdigit())
        return digits

    def function(self) -> Function:
        name = self.peek.word
        self.need(f"one of {', '.join(_FUNCTIONS)}", found=name in _FUNCTIONS)
        self.take()
        self.take_symbol("(")
        if name == "COUNT" and self.takes("*"):
            self.take_symbol(")")
            return Function("COUNT_STAR")
        distinct = self.takes("DISTINCT")
        column = self.column()
        self.take_symbol(")")
        # an average adds up doubles, as in Spark: it never overflows
        whole = kind_of(self.type_of(column)) in INTEGRAL_BITS
        widened = name == "AVG" and whole and not distinct
        return Function(name, (Call("CAST", (column,), _DOUBLE) if widened else column,), distinct)

    def column(self) -> Column:
        return Column(self.column_path(self.schema))

    def type_of(self, column: Column) -> DataType:
        found = self.schema.find(column.path)
        assert found is not None, column
        return found.type
