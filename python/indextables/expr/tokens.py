"""Words, strings and symbols of a command, with their positions in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from indextables.errors import error


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    STRING = "string"
    QUOTED = "back-quoted name"
    SYMBOL = "symbol"
    END = "end of the command"


@dataclass(frozen=True)
class Token:
    """A token; `value` is without quotes and escapes."""

    kind: Kind
    value: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The upper-case word, empty for everything else: keywords are matched by it."""
        return self.value.upper() if self.kind is Kind.WORD else ""

    @cached_property
    def spelled(self) -> str:
        """The upper-case word or the symbol, empty for names and strings in quotes."""
        return self.value if self.kind is Kind.SYMBOL else self.word

    def is_symbol(self, symbol: str) -> bool:
        """Whether this is exactly that symbol."""
        return self.kind is Kind.SYMBOL and self.value == symbol


_SKIP = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r"\w+")
_STRING = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"", re.DOTALL)
_QUOTED = re.compile(r"`(?:[^`]|``)+`")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_WILDCARDS = "%_"


def tokenize(text: str) -> list[Token]:
    """All tokens, the last one of kind END."""
    tokens: list[Token] = []
    at = _skip(text, 0)
    while at < len(text):
        token = _next(text, at)
        tokens.append(token)
        at = _skip(text, token.end)
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


def _next(text: str, at: int) -> Token:
    if found := _WORD.match(text, at):
        return Token(Kind.WORD, found[0], at, found.end())
    if found := _STRING.match(text, at):
        return Token(Kind.STRING, _unescape(found[0]), at, found.end())
    if found := _QUOTED.match(text, at):
        return Token(Kind.QUOTED, found[0][1:-1].replace("``", "`"), at, found.end())
    if text[at] in "'\"`" or text.startswith("/*", at):
        raise syntax_error("this quote or comment has no end", text, at)
    return Token(Kind.SYMBOL, text[at], at, at + 1)


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
