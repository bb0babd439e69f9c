"""The vocabulary of commands: what a verb says about its words, its values and its answer.

A verb file declares a frozen value per command and its `RULES`. A rule is a row of parts in their
fixed order; parser, renderer, usage lines, documents and the parser hook inside Spark all read it.
`IX` stands for either product keyword.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from indextables.errors import error
from indextables.model.types import Atomic, DataType, Field, Struct

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps

PRODUCT = ("INDEXTABLES", "TANTIVY4SPARK")
DESCRIBE = "DESCRIBE|DESC IX"
_HOURS = {"DAYS": 24.0, "HOURS": 1.0, "MINUTES": 1 / 60, "SECONDS": 1 / 3600}
_TYPES = {"bigint": "long", "int": "integer"}

# one entry per word: the words that may stand there
Places: TypeAlias = tuple[tuple[str, ...], ...]
Answer: TypeAlias = "list[Row] | Steps[list[Row]]"
Run: TypeAlias = Callable[[Any, "Context"], Answer]


@dataclass(frozen=True)
class Command:
    """Base of all commands; a value that exists is valid."""


def require(condition: bool, problem: str) -> None:  # noqa: FBT001 -- reads as a sentence
    """Reject a command that parses but means nothing."""
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
    """A whole number."""


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
    """Raw text up to the next clause, for an expression parser to read."""


Kind: TypeAlias = (
    TargetKind | TextKind | NumberKind | SizeKind | WordKind | SpanKind | ListKind | PredicateKind
)


# --- parts of a rule


@dataclass(frozen=True)
class Words:
    """Keywords that must stand here."""

    text: str


@dataclass(frozen=True)
class Part:
    """A value that must stand here."""

    field: str
    kind: Kind


@dataclass(frozen=True)
class MaybeTarget:
    """A target that may be left out."""

    field: str = "target"


@dataclass(frozen=True)
class Clause:
    """Keywords and a value that may be left out together."""

    text: str
    field: str
    kind: Kind


@dataclass(frozen=True)
class Flag:
    """Keywords that may be left out."""

    text: str
    field: str


AnyPart: TypeAlias = Words | Part | MaybeTarget | Clause | Flag


@dataclass(frozen=True)
class Rule:
    """One way to write a command: its first words, the parts behind them, its answer, its verb.

    A borrowed rule has the words of another table format. It is ours only where its target is a
    table of ours, and nobody else claims it.
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
    """`A|B IX` as places with alternatives."""
    return tuple(PRODUCT if word == "IX" else tuple(word.split("|")) for word in text.split())


def shown_words(text: str) -> str:
    """The words with the first of each alternatives."""
    return " ".join(places[0] for places in words_of(text))


def columns(text: str) -> Struct:
    """The schema written as `name type, name struct<name type, ...>`."""
    fields: list[Field] = []
    for part in _split(text):
        name, _, kind = part.strip().partition(" ")
        found: DataType = Atomic(_TYPES.get(kind, kind))
        if kind.startswith("struct<"):
            found = columns(kind.removeprefix("struct<").removesuffix(">"))
        fields.append(Field(name, found))
    return Struct(tuple(fields))


def _split(text: str) -> list[str]:
    """The parts between commas that are not inside angle brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
