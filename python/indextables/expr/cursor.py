"""A cursor over the tokens of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from indextables.expr.tokens import Kind, Token, syntax_error
from indextables.model.types import Field, Struct

# one entry per position: the words allowed there
Places: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass
class Cursor:
    """Walks over tokens; `stops` are the words that begin a later clause."""

    text: str
    tokens: list[Token]
    usage: str = ""
    at: int = 0
    stops: tuple[Places, ...] = ()

    @property
    def peek(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    @property
    def shown(self) -> str:
        """The next token as an error message shows it."""
        token = self.peek
        if token.kind is Kind.END:
            return "the end"
        return f"`{self.text[token.start : token.end]}`"

    def take(self) -> Token:
        """Take the next token; the end is never taken."""
        token = self.peek
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def takes(self, *words: str) -> bool:
        """Take these words or symbols if they follow."""
        if self.tokens[self.at].spelled != words[0]:  # nearly always
            return False
        end = self.at + len(words)
        found = [token.spelled for token in self.tokens[self.at : end]] == [*words]
        self.at = end if found else self.at
        return found

    def need(self, wanted: str, *, found: bool) -> None:
        """Raise a syntax error at this position unless `found`."""
        if not found:
            raise self.error(f"expected {wanted}, found {self.shown}")

    def take_kind(self, kind: Kind, wanted: str) -> Token:
        """Take the next token, which must be of this kind."""
        self.need(wanted, found=self.peek.kind is kind)
        return self.take()

    def take_symbol(self, symbol: str) -> None:
        """Take a required symbol."""
        self.need(f"`{symbol}`", found=self.takes(symbol))

    def matches(self, words: Places) -> bool:
        """Whether these words follow."""
        following = self.tokens[self.at : self.at + len(words)]
        return len(following) == len(words) and all(
            token.spelled in allowed for token, allowed in zip(following, words, strict=True)
        )

    def at_stop(self) -> bool:
        """Whether a later clause or the final semicolons begin here."""
        if self.peek.is_symbol(";"):
            rest = self.tokens[self.at : -1]
            return all(token.is_symbol(";") for token in rest)
        return any(self.matches(stop) for stop in self.stops)

    def error(self, problem: str) -> Exception:
        """The syntax error at this position."""
        return syntax_error(problem, self.text, self.peek.start, self.usage)

    def column_path(self, schema: Struct) -> tuple[str, ...]:
        """Take the path of a column, `name` or `name.member`; case matters where names need it."""
        self.need("a column", found=self.peek.kind in (Kind.WORD, Kind.QUOTED))
        found = self._field(schema, "there is no column `{}`")
        path = [found.name]
        while self.peek.is_symbol("."):
            if not isinstance(found.type, Struct):
                raise self.error(f"`{'.'.join(path)}` has no members")
            self.take()
            found = self._field(found.type, f"`{'.'.join(path)}` has no member `{{}}`")
            path.append(found.name)
        return tuple(path)

    def _field(self, schema: Struct, problem: str) -> Field:
        token = self.peek
        if token.kind not in (Kind.WORD, Kind.QUOTED):
            raise self.error(problem.format(token.value))
        found = schema.get(token.value)
        if found is None:
            alike = [each for each in schema.fields if each.name.lower() == token.value.lower()]
            if len(alike) != 1:
                raise self.error(problem.format(token.value))
            found = alike[0]
        self.take()
        return found
