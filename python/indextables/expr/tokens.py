"""Words, strings and symbols of a command, with their positions in the text."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from indextables.errors import error


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    STRING = "string"
    QUOTED = "back-quoted name"
    SYMBOL = "symbol"
    END = "end of the command"


class Token(NamedTuple):
    """A token; `value` is without quotes and escapes.

    `spelled` is the upper-case word or the symbol, empty for names and strings in quotes.
    """

    kind: Kind
    value: str
    start: int
    end: int
    spelled: str = ""

    @property
    def word(self) -> str:
        """The upper-case word, empty for everything else: keywords are matched by it."""
        return self.spelled if self.kind is Kind.WORD else ""

    def is_symbol(self, symbol: str) -> bool:
        """Whether this is exactly that symbol."""
        return self.kind is Kind.SYMBOL and self.value == symbol


_SKIP = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r"\w+")
_STRING = r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\""
_QUOTED = r"`(?:[^`]|``)+`"
# one match per token; what lies between tokens is in no group
_TOKEN = re.compile(
    rf"{_SKIP.pattern}|(?P<word>\w+)|(?P<string>{_STRING})|(?P<quoted>{_QUOTED})|(?P<symbol>.)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_WILDCARDS = "%_"


def tokenize(text: str) -> list[Token]:
    """All tokens, the last one of kind END."""
    tokens = [_token(found) for found in _TOKEN.finditer(text) if found.lastgroup is not None]
    return [*tokens, Token(Kind.END, "", len(text), len(text))]


def leading_words(text: str, count: int) -> list[str]:
    """The first words in upper case; never fails, so that it takes any statement."""
    words: list[str] = []
    at = _skip(text, 0)
    while len(words) < count and (found := _WORD.match(text, at)):
        words.append(found[0].upper())
        at = _skip(text, found.end())
    return words


def _skip(text: str, at: int) -> int:
    found = _SKIP.match(text, at)
    return found.end() if found else at


def _token(found: re.Match[str]) -> Token:
    kind, value, (start, end) = found.lastgroup, found[0], found.span()
    if kind == "word":
        return Token(Kind.WORD, value, start, end, value.upper())
    if kind == "string":
        return Token(Kind.STRING, _unescape(value), start, end)
    if kind == "quoted":
        return Token(Kind.QUOTED, value[1:-1].replace("``", "`"), start, end)
    if value in "'\"`" or found.string.startswith("/*", start):
        raise syntax_error("this quote or comment has no end", found.string, start)
    return Token(Kind.SYMBOL, value, start, end, value)


def _unescape(literal: str) -> str:
    quote, body = literal[0], literal[1:-1]

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        if len(name) > 1:
            return chr(int(name[1:], 16))
        # a backslash before the wildcards of LIKE stays, as in Spark
        return found[0] if name in _WILDCARDS else _ESCAPES.get(name, name)

    return _ESCAPE.sub(replace, body.replace(quote * 2, quote))


def syntax_error(problem: str, text: str, at: int, usage: str = "") -> Exception:
    """The error of a command that does not parse, with its position."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    tail = f"; usage: {usage}" if usage else ""
    return error("SQL_SYNTAX", problem=problem, line=line, column=column, usage=tail, position=at)
