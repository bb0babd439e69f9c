"""The kinds of values a clause can take: how each is read, written and described."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from indextables.errors import error
from indextables.sql.commands import Span
from indextables.sql.target import Target
from indextables.sql.tokens import Kind

if TYPE_CHECKING:
    from indextables.sql.cursor import Cursor

_SIZE = re.compile(r"([0-9]+)([MG]?)", re.IGNORECASE)
_FACTORS = {"": 1, "M": 1 << 20, "G": 1 << 30}
RESERVED = frozenset({"MERGE", "SPLITS", "WHERE", "TARGET", "SIZE", "PRECOMMIT", "FLUSH"})


class Value(Protocol):
    """Reads and writes one kind of value."""

    @property
    def usage(self) -> str:
        """How the value is shown in a usage line."""

    def read(self, cursor: Cursor) -> Any:
        """Take the value from the tokens."""

    def write(self, value: Any) -> str:
        """The text that reads back as this value."""


def quote(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_name(part: str) -> str:
    """A part of a name, always back-quoted, so that no keyword is mistaken for it."""
    return "`" + part.replace("`", "``") + "`"


@dataclass(frozen=True)
class TargetValue:
    """A path or a table name."""

    usage: str = "'path'|table"

    def read(self, cursor: Cursor) -> Target:
        """Take a target."""
        if cursor.peek.kind is Kind.STRING:
            if not cursor.peek.value.strip():
                raise cursor.error("the path is empty")
            return Target(path=cursor.take().value)
        parts = [self._part(cursor)]
        while cursor.peek.is_symbol("."):
            cursor.take()
            parts.append(self._part(cursor))
        return Target(name=tuple(parts))

    def starts(self, cursor: Cursor) -> bool:
        """Whether the next token can begin a target."""
        token = cursor.peek
        if token.kind is Kind.WORD:
            return token.word not in RESERVED
        return token.kind in (Kind.STRING, Kind.QUOTED)

    def _part(self, cursor: Cursor) -> str:
        if not self.starts(cursor) or cursor.peek.kind is Kind.STRING:
            raise cursor.error(f"expected a path in quotes or a table name, found {cursor.shown}")
        return cursor.take().value

    def write(self, value: Target) -> str:
        """The target as text."""
        if value.path is not None:
            return quote(value.path)
        return ".".join(quote_name(part) for part in value.name)


@dataclass(frozen=True)
class TextValue:
    """A string literal."""

    usage: str = "'text'"

    def read(self, cursor: Cursor) -> str:
        """Take a string."""
        return cursor.take_kind(Kind.STRING, "a text in quotes").value

    def write(self, value: str) -> str:
        """The string as text."""
        return quote(value)


@dataclass(frozen=True)
class NumberValue:
    """A whole number."""

    usage: str = "n"

    def read(self, cursor: Cursor) -> int:
        """Take a number."""
        token = cursor.peek
        if token.kind is not Kind.WORD or not (token.value.isascii() and token.value.isdigit()):
            raise cursor.error(f"expected a whole number, found {cursor.shown}")
        return int(cursor.take().value)

    def write(self, value: int) -> str:
        """The number as text."""
        return str(value)


def parse_size(text: str, label: str = "target size") -> int:
    """The bytes a text means."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise error("SQL_CLAUSE", problem=f"Invalid {label}: {text}")
    return int(found[1]) * _FACTORS[found[2].upper()]


@dataclass(frozen=True)
class SizeValue:
    """Bytes, or a number with M or G."""

    label: str = "target size"
    usage: str = "bytes|nM|nG"

    def read(self, cursor: Cursor) -> int:
        """Take a size."""
        token = cursor.peek
        if token.kind not in (Kind.WORD, Kind.STRING):
            raise cursor.error(f"expected a size, found {cursor.shown}")
        size = parse_size(token.value, self.label)
        cursor.take()
        return size

    def write(self, value: int) -> str:
        """The size as text."""
        for unit in "GM":
            if value and value % _FACTORS[unit] == 0:
                return f"{value // _FACTORS[unit]}{unit}"
        return str(value)


@dataclass(frozen=True)
class WordValue:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def usage(self) -> str:
        """The words."""
        return "(" + "|".join(self.words) + ")"

    def read(self, cursor: Cursor) -> str:
        """Take one of the words."""
        if cursor.peek.word not in self.words:
            raise cursor.error(f"expected {' or '.join(self.words)}, found {cursor.shown}")
        return cursor.take().word

    def write(self, value: str) -> str:
        """The word."""
        return value


@dataclass(frozen=True)
class SpanValue:
    """A number and a unit of time."""

    units: tuple[str, ...]

    @property
    def usage(self) -> str:
        """The units."""
        return f"n ({'|'.join(self.units)})"

    def read(self, cursor: Cursor) -> Span:
        """Take a number and a unit."""
        amount = NumberValue().read(cursor)
        return Span(amount, WordValue(self.units).read(cursor))

    def write(self, value: Span) -> str:
        """The span as text."""
        return f"{value.amount} {value.unit}"


@dataclass(frozen=True)
class ListValue:
    """Names or strings in parentheses; with a separator, pairs of strings."""

    names: bool = False
    separator: str = ""

    @property
    def usage(self) -> str:
        """The shape of the list."""
        item = "name" if self.names else "'text'"
        return f"({item}{self.separator + item if self.separator else ''}, ...)"

    def read(self, cursor: Cursor) -> tuple[Any, ...]:
        """Take a list."""
        cursor.take_symbol("(")
        items = [self._item(cursor)]
        while cursor.peek.is_symbol(","):
            cursor.take()
            items.append(self._item(cursor))
        cursor.take_symbol(")")
        return tuple(items)

    def _item(self, cursor: Cursor) -> Any:
        if self.separator:
            key = TextValue().read(cursor)
            cursor.take_symbol(self.separator)
            return key, TextValue().read(cursor)
        if not self.names:
            return TextValue().read(cursor)
        if cursor.peek.kind not in (Kind.WORD, Kind.QUOTED):
            raise cursor.error(f"expected a name, found {cursor.shown}")
        return cursor.take().value

    def write(self, value: tuple[Any, ...]) -> str:
        """The list as text."""
        if self.separator:
            shown = [f"{quote(key)}{self.separator}{quote(item)}" for key, item in value]
        else:
            shown = [quote_name(item) if self.names else quote(item) for item in value]
        return f"({', '.join(shown)})"


@dataclass(frozen=True)
class PredicateValue:
    """Raw text up to the next clause, for an expression parser to read."""

    usage: str = "predicate"

    def read(self, cursor: Cursor) -> str:
        """Take everything up to the next clause that is not within parentheses."""
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

    def write(self, value: str) -> str:
        """The predicate as it is."""
        return value
