"""The kinds of values a clause can take: how each is read, written and described."""

from __future__ import annotations

import re
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from indextables.commands import grammar as g
from indextables.commands.grammar import Span
from indextables.commands.target import RESERVED, Target
from indextables.errors import error
from indextables.expr.tokens import Kind

if TYPE_CHECKING:
    from indextables.expr.cursor import Cursor

_SIZE = re.compile(r"([0-9]+)([MG]?)", re.IGNORECASE)
_FACTORS = {"": 1, "M": 1 << 20, "G": 1 << 30}
_FIXED_USAGE = {
    g.TargetKind: "'path'|table",
    g.TextKind: "'text'",
    g.NumberKind: "n",
    g.SizeKind: "bytes|nM|nG",
    g.PredicateKind: "predicate",
}


def usage_of(kind: g.Kind) -> str:
    """How a value is shown in a usage line."""
    if isinstance(kind, g.WordKind):
        return "(" + "|".join(kind.words) + ")"
    if isinstance(kind, g.SpanKind):
        return f"n ({'|'.join(kind.units)})"
    if isinstance(kind, g.ListKind):
        item = "name" if kind.names else "'text'"
        return f"({item}{kind.separator + item if kind.separator else ''}, ...)"
    return _FIXED_USAGE[type(kind)]


@singledispatch
def read(kind: g.Kind, cursor: Cursor) -> Any:
    """Take a value of this kind from the tokens."""
    raise NotImplementedError(kind)


@singledispatch
def write(kind: g.Kind, value: Any) -> str:
    """The text that parses to this value."""
    raise NotImplementedError(kind, value)


def quote(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_name(part: str) -> str:
    """A part of a name, always back-quoted, so that it is not mistaken for a keyword."""
    return "`" + part.replace("`", "``") + "`"


@read.register(g.TargetKind)
def _read_target(_: g.TargetKind, cursor: Cursor) -> Target:
    if cursor.peek.kind is Kind.STRING:
        if not cursor.peek.value.strip():
            raise cursor.error("the path is empty")
        return Target(path=cursor.take().value)
    parts = [_name_part(cursor)]
    while cursor.peek.is_symbol("."):
        cursor.take()
        parts.append(_name_part(cursor))
    return Target(name=tuple(parts))


def starts_target(cursor: Cursor) -> bool:
    """Whether the next token can begin a target."""
    token = cursor.peek
    if token.kind is Kind.WORD:
        return token.word not in RESERVED
    return token.kind in (Kind.STRING, Kind.QUOTED)


def _name_part(cursor: Cursor) -> str:
    if not starts_target(cursor) or cursor.peek.kind is Kind.STRING:
        raise cursor.error(f"expected a path in quotes or a table name, found {cursor.shown}")
    return cursor.take().value


@write.register(g.TargetKind)
def _write_target(_: g.TargetKind, value: Target) -> str:
    if value.path is not None:
        return quote(value.path)
    return ".".join(quote_name(part) for part in value.name)


@read.register(g.TextKind)
def _read_text(_: g.TextKind, cursor: Cursor) -> str:
    return cursor.take_kind(Kind.STRING, "a text in quotes").value


@write.register(g.TextKind)
def _write_text(_: g.TextKind, value: str) -> str:
    return quote(value)


@read.register(g.NumberKind)
def _read_number(_: g.NumberKind, cursor: Cursor) -> int:
    token = cursor.peek
    if token.kind is not Kind.WORD or not (token.value.isascii() and token.value.isdigit()):
        raise cursor.error(f"expected an integer, found {cursor.shown}")
    return int(cursor.take().value)


@write.register(g.NumberKind)
def _write_number(_: g.NumberKind, value: int) -> str:
    return str(value)


def parse_size(text: str, label: str = "target size") -> int:
    """Parse a size into bytes."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise error("SQL_CLAUSE", problem=f"Invalid {label}: {text}")
    return int(found[1]) * _FACTORS[found[2].upper()]


@read.register(g.SizeKind)
def _read_size(kind: g.SizeKind, cursor: Cursor) -> int:
    token = cursor.peek
    if token.kind not in (Kind.WORD, Kind.STRING):
        raise cursor.error(f"expected a size, found {cursor.shown}")
    size = parse_size(token.value, kind.label)
    cursor.take()
    return size


@write.register(g.SizeKind)
def _write_size(_: g.SizeKind, value: int) -> str:
    for unit in "GM":
        if value and value % _FACTORS[unit] == 0:
            return f"{value // _FACTORS[unit]}{unit}"
    return str(value)


@read.register(g.WordKind)
def _read_word(kind: g.WordKind, cursor: Cursor) -> str:
    if cursor.peek.word not in kind.words:
        raise cursor.error(f"expected {' or '.join(kind.words)}, found {cursor.shown}")
    return cursor.take().word


@write.register(g.WordKind)
def _write_word(_: g.WordKind, value: str) -> str:
    return value


@read.register(g.SpanKind)
def _read_span(kind: g.SpanKind, cursor: Cursor) -> Span:
    amount = _read_number(g.NumberKind(), cursor)
    return Span(amount, _read_word(g.WordKind(kind.units), cursor))


@write.register(g.SpanKind)
def _write_span(_: g.SpanKind, value: Span) -> str:
    return f"{value.amount} {value.unit}"


@read.register(g.ListKind)
def _read_list(kind: g.ListKind, cursor: Cursor) -> tuple[Any, ...]:
    cursor.take_symbol("(")
    items = [_read_item(kind, cursor)]
    while cursor.peek.is_symbol(","):
        cursor.take()
        items.append(_read_item(kind, cursor))
    cursor.take_symbol(")")
    return tuple(items)


def _read_item(kind: g.ListKind, cursor: Cursor) -> Any:
    text = g.TextKind()
    if kind.separator:
        key = _read_text(text, cursor)
        cursor.take_symbol(kind.separator)
        return key, _read_text(text, cursor)
    if not kind.names:
        return _read_text(text, cursor)
    if cursor.peek.kind not in (Kind.WORD, Kind.QUOTED):
        raise cursor.error(f"expected a name, found {cursor.shown}")
    return cursor.take().value


@write.register(g.ListKind)
def _write_list(kind: g.ListKind, value: tuple[Any, ...]) -> str:
    if kind.separator:
        shown = [f"{quote(key)}{kind.separator}{quote(item)}" for key, item in value]
    else:
        shown = [quote_name(item) if kind.names else quote(item) for item in value]
    return f"({', '.join(shown)})"


@read.register(g.PredicateKind)
def _read_predicate(_: g.PredicateKind, cursor: Cursor) -> str:
    """Everything up to the next clause outside parentheses."""
    start = last = cursor.peek
    depth = 0
    while cursor.peek.kind is not Kind.END:
        if depth <= 0 and cursor.at_stop():
            break
        last = cursor.take()
        depth += int(last.is_symbol("(")) - int(last.is_symbol(")"))
    if start is cursor.peek:
        raise cursor.error(f"expected a predicate, found {cursor.shown}")
    return cursor.text[start.start : last.end]


@write.register(g.PredicateKind)
def _write_predicate(_: g.PredicateKind, value: str) -> str:
    return value
