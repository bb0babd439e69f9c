"""Definition of a configuration key: name, type, default, description and scopes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from indextables.config.secret import Secret

PREFIX = "spark.indextables."
# older names of the product; keys with these prefixes are equivalent
LEGACY_PREFIXES = ("spark.indexfiles.", "spark.tantivy4spark.", "tantivy4spark.", "indexfiles.")

T = TypeVar("T")


class Scope(StrEnum):
    """Where a key can be set, in order of precedence, highest first."""

    OPTION = "option"
    SESSION = "session"
    TABLE = "table property"


class Status(StrEnum):
    """Status of a key of the existing implementation."""

    USED = "used"
    IGNORED = "ignored"


@dataclass(frozen=True)
class Parser(Generic[T]):
    """Parse text into a value, or raise ValueError; `allowed` describes valid values."""

    parse: Callable[[str], T]
    allowed: str


@dataclass(frozen=True)
class Option(Generic[T]):
    """One configuration key. `key` has no prefix.

    A `per_field` key ends in a column name (`indexing.typemap.title = text`) or, the other way
    round, in a value that is given to a list of columns (`indexing.typemap.text = title,body`).
    A `bare` key is always written without the prefix, as in other systems.
    """

    key: str
    parser: Parser[T]
    default: T
    doc: str
    group: str
    scopes: tuple[Scope, ...] = (Scope.OPTION, Scope.SESSION)
    aliases: tuple[str, ...] = ()
    secret: bool = False
    per_field: bool = False
    bare: bool = False
    status: Status = Status.USED

    @property
    def full_key(self) -> str:
        """The key as users write it."""
        return self.key if self.bare else PREFIX + self.key


Keys = Mapping[str, tuple[Parser[Any], Any]]


def ignored(
    group: str, doc: str, keys: Keys, secrets: Keys | None = None
) -> tuple[Option[Any], ...]:
    """Whether the key is validated but has no effect."""
    return tuple(
        Option(key, parser, default, doc, group, secret=hidden, status=Status.IGNORED)
        for given, hidden in ((keys, False), (secrets or {}, True))
        for key, (parser, default) in given.items()
    )


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


BOOLEAN = Parser(_boolean, "`true` or `false`")
TEXT: Parser[str] = Parser(str, "any text")
SECRET: Parser[Secret] = Parser(Secret, "any text")
NAMES: Parser[tuple[str, ...]] = Parser(
    lambda text: tuple(part.strip() for part in text.split(",") if part.strip()),
    "a comma-separated list",
)


_WHOLE = re.compile(r"[+-]?[0-9]+")


def integer(low: int | None = None, high: int | None = None) -> Parser[int]:
    """Parse an integer within bounds."""

    def parse(text: str) -> int:
        if not _WHOLE.fullmatch(text.strip()):
            raise ValueError(text)
        value = int(text.strip())
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(text)
        return value

    bounds = [f"at least {low}"] if low is not None else []
    bounds += [f"at most {high}"] if high is not None else []
    return Parser(parse, " ".join(["an integer", *[", ".join(bounds)]]).strip())


def number(low: float | None = None, high: float | None = None) -> Parser[float]:
    """Parse a decimal number within bounds."""

    def parse(text: str) -> float:
        value = float(text.strip())
        if not math.isfinite(value):
            raise ValueError(text)
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(text)
        return value

    bounds = [f"at least {low}"] if low is not None else []
    bounds += [f"at most {high}"] if high is not None else []
    return Parser(parse, " ".join(["a number", *[", ".join(bounds)]]).strip())


def choice(*names: str) -> Parser[str]:
    """Parse one of a few words, case-insensitively."""

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


def size_from(megabytes: int) -> Parser[int]:
    """A size of at least some megabytes."""

    def parse(text: str) -> int:
        value = _size(text)
        if value < megabytes << 20:
            raise ValueError(text)
        return value

    return Parser(parse, f"{SIZE.allowed}, at least `{megabytes}M`")


def optional(parser: Parser[T]) -> Parser[T | None]:
    """The same parser for keys that are unset by default; an empty value also unsets the key."""
    return Parser(lambda text: parser.parse(text) if text.strip() else None, parser.allowed)


def automatic(parser: Parser[T]) -> Parser[T | None]:
    """The same parser plus `auto`, which is None: the value is computed where it is used."""

    def parse(text: str) -> T | None:
        return None if text.strip().lower() in ("", "auto") else parser.parse(text)

    return Parser(parse, f"`auto` or {parser.allowed}")
