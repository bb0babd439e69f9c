"""What a configuration key is: its name, type, default, meaning and where it may be set."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

PREFIX = "spark.indextables."

T = TypeVar("T")


class Scope(StrEnum):
    """Where a key may be set; the order is the precedence, first wins."""

    OPTION = "option"
    SESSION = "session"
    TABLE = "table property"


class Status(StrEnum):
    """What a key of the existing implementation does here."""

    USED = "used"
    IGNORED = "accepted, no effect here"


@dataclass(frozen=True)
class Parser(Generic[T]):
    """Turns text into a value, or raises ValueError; `allowed` says what is accepted."""

    parse: Callable[[str], T]
    allowed: str


@dataclass(frozen=True)
class Option(Generic[T]):
    """One configuration key. `key` has no prefix; `per_field` keys end in a column name."""

    key: str
    parser: Parser[T]
    default: T
    doc: str
    group: str
    scopes: tuple[Scope, ...] = (Scope.OPTION, Scope.SESSION)
    aliases: tuple[str, ...] = ()
    secret: bool = False
    per_field: bool = False
    status: Status = Status.USED

    @property
    def full_key(self) -> str:
        """The key as users write it."""
        return PREFIX + self.key


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


BOOLEAN = Parser(_boolean, "`true` or `false`")
TEXT: Parser[str] = Parser(str, "any text")
NAMES: Parser[tuple[str, ...]] = Parser(
    lambda text: tuple(part.strip() for part in text.split(",") if part.strip()),
    "a comma-separated list",
)


def integer(low: int | None = None, high: int | None = None) -> Parser[int]:
    """A whole number within bounds."""

    def parse(text: str) -> int:
        value = int(text.strip())
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(text)
        return value

    bounds = [f"at least {low}"] if low is not None else []
    bounds += [f"at most {high}"] if high is not None else []
    return Parser(parse, " ".join(["a whole number", *[", ".join(bounds)]]).strip())


def number(low: float | None = None, high: float | None = None) -> Parser[float]:
    """A decimal number within bounds."""

    def parse(text: str) -> float:
        value = float(text.strip())
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(text)
        return value

    bounds = [f"at least {low}"] if low is not None else []
    bounds += [f"at most {high}"] if high is not None else []
    return Parser(parse, " ".join(["a number", *[", ".join(bounds)]]).strip())


def choice(*names: str) -> Parser[str]:
    """One of a few words, in any case."""

    def parse(text: str) -> str:
        lowered = text.strip().lower()
        if lowered not in names:
            raise ValueError(text)
        return lowered

    return Parser(parse, "one of " + ", ".join(f"`{n}`" for n in names))


_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*$", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _size(text: str) -> int:
    found = _SIZE.match(text)
    if not found or (not found[2] and "." in found[1]):
        raise ValueError(text)
    value = int(float(found[1]) * _UNITS[found[2].upper()])
    if found[2] and value <= 0:
        raise ValueError(text)
    return value


SIZE = Parser(_size, "bytes, or a number with K, M, G or T, such as `256M`")


def optional(parser: Parser[T]) -> Parser[T | None]:
    """The same values, for keys whose default is to be unset."""
    return Parser(parser.parse, parser.allowed)
