"""The building blocks of commands: keywords, values and output columns.

A command's module declares a frozen class and its `RULES`. A rule is a sequence of parts in
order; the parser, renderer, usage lines, documentation and Spark's parser hook all use it.
`IX` stands for either product keyword.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from indextables.errors import error
from indextables.model.types import Atomic, DataType, Field, Struct

if TYPE_CHECKING:
    from indextables.expr.cursor import Places
    from indextables.read.table import Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps

PRODUCT = ("INDEXTABLES", "TANTIVY4SPARK")
DESCRIBE = "DESCRIBE|DESC IX"
_HOURS = {"DAYS": 24.0, "HOURS": 1.0, "MINUTES": 1 / 60, "SECONDS": 1 / 3600}
_TYPES = {"bigint": "long", "int": "integer"}

Answer: TypeAlias = "list[Row] | Steps[list[Row]]"
Run: TypeAlias = Callable[[Any, "Context"], Answer]


@dataclass(frozen=True)
class Command:
    """Base class of commands; an instance is always valid."""


def require(condition: bool, problem: str) -> None:  # noqa: FBT001 -- reads as a sentence
    """Reject a command that parses but is not valid."""
    if not condition:
        raise error("SQL_CLAUSE", problem=problem)


@dataclass(frozen=True)
class Span:
    """A number with a unit of time."""

    amount: int
    unit: str

    @property
    def hours(self) -> float:
        """The span in hours."""
        return self.amount * _HOURS[self.unit]


# --- kinds of values


@dataclass(frozen=True)
class TargetKind:
    """A path or a table name."""


@dataclass(frozen=True)
class TextKind:
    """A string literal."""


@dataclass(frozen=True)
class NumberKind:
    """An integer."""


@dataclass(frozen=True)
class SizeKind:
    """Bytes, or a number with M or G."""

    label: str = "target size"


@dataclass(frozen=True)
class WordKind:
    """One of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class SpanKind:
    """A number and a unit of time."""

    units: tuple[str, ...]


@dataclass(frozen=True)
class ListKind:
    """Names or strings in parentheses; with a separator, pairs of strings."""

    names: bool = False
    separator: str = ""


@dataclass(frozen=True)
class PredicateKind:
    """Raw text up to the next clause, for an expression parser."""


Kind: TypeAlias = (
    TargetKind | TextKind | NumberKind | SizeKind | WordKind | SpanKind | ListKind | PredicateKind
)


# --- parts of a rule


@dataclass(frozen=True)
class Words:
    """Required keywords."""

    text: str


@dataclass(frozen=True)
class Part:
    """A required value."""

    field: str
    kind: Kind


@dataclass(frozen=True)
class MaybeTarget:
    """An optional target."""

    field: str = "target"


@dataclass(frozen=True)
class Clause:
    """Optional keywords with a value."""

    text: str
    field: str
    kind: Kind


@dataclass(frozen=True)
class Flag:
    """Optional keywords."""

    text: str
    field: str


AnyPart: TypeAlias = Words | Part | MaybeTarget | Clause | Flag


@dataclass(frozen=True)
class Rule:
    """One form of a command: first words, further parts, output columns and function.

    A borrowed rule has the syntax of another table format. It applies only to IndexTables tables,
    and only if no other extension claims it.
    """

    command: type[Command]
    start: str
    parts: tuple[AnyPart, ...]
    output: Struct
    run: Run
    borrowed: bool = False


TARGET = Part("target", TargetKind())
WHERE = Clause("WHERE", "where", PredicateKind())


def words_of(text: str) -> Places:
    """Parse `A|B IX` into positions with alternatives."""
    return tuple(PRODUCT if word == "IX" else tuple(word.split("|")) for word in text.split())


def shown_words(text: str) -> str:
    """Return the words, with the first of each set of alternatives."""
    return " ".join(places[0] for places in words_of(text))


def columns(text: str) -> Struct:
    """Parse a schema written as `name type, name struct<name type, ...>`."""
    fields: list[Field] = []
    for part in _split(text):
        name, _, kind = part.strip().partition(" ")
        found: DataType = Atomic(_TYPES.get(kind, kind))
        if kind.startswith("struct<"):
            found = columns(kind.removeprefix("struct<").removesuffix(">"))
        fields.append(Field(name, found))
    return Struct(tuple(fields))


def _split(text: str) -> list[str]:
    """Split at commas that are not inside angle brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
