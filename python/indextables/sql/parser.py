"""Parse text into a command, driven by the grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.commands.grammar import (
    AnyPart,
    Clause,
    Flag,
    MaybeTarget,
    Part,
    Rule,
    TargetKind,
    Words,
    words_of,
)
from indextables.commands.registry import RULES
from indextables.expr.cursor import Cursor, Places
from indextables.expr.tokens import Kind, tokenize
from indextables.sql.render import usage
from indextables.sql.values import read, starts_target

if TYPE_CHECKING:
    from indextables.commands.grammar import Command


def parse(text: str) -> Command:
    """Parse a command."""
    cursor = Cursor(text, tokenize(text))
    rule = _choose(cursor)
    cursor.usage = usage(rule)
    cursor.at += len(words_of(rule.start))
    values: dict[str, Any] = {}
    for index, part in enumerate(rule.parts):
        cursor.stops = _stops(rule, index + 1)
        _read(cursor, part, values)
    while cursor.peek.is_symbol(";"):
        cursor.take()
    if cursor.peek.kind is not Kind.END:
        raise cursor.error(f"{cursor.shown} is not expected here")
    return rule.command(**values)


def _choose(cursor: Cursor) -> Rule:
    for rule in RULES:
        if cursor.matches(words_of(rule.start)):
            return rule
    near = max(RULES, key=lambda rule: _matching(cursor, words_of(rule.start)))
    count = _matching(cursor, words_of(near.start))
    expected = _next_words(cursor, count)
    if count:
        cursor.usage = usage(near)
    cursor.at += count
    raise cursor.error(f"expected {expected}, found {cursor.shown}")


def _matching(cursor: Cursor, words: Places) -> int:
    return next((n for n in range(len(words), 0, -1) if cursor.matches(words[:n])), 0)


def _next_words(cursor: Cursor, count: int) -> str:
    """The words that could follow those that matched."""
    possible: list[str] = []
    for words in (words_of(rule.start) for rule in RULES):
        if len(words) > count and cursor.matches(words[:count]):
            possible += words[count]
    return " or ".join(f"`{word}`" for word in sorted(set(possible)))


def _stops(rule: Rule, start: int) -> tuple[Places, ...]:
    """The words that can begin one of the later parts."""
    return tuple(
        words_of(part.text)
        for part in rule.parts[start:]
        if isinstance(part, Words | Clause | Flag)
    )


def _read(cursor: Cursor, part: AnyPart, values: dict[str, Any]) -> None:
    if isinstance(part, Part):
        values[part.field] = read(part.kind, cursor)
        return
    if isinstance(part, MaybeTarget):
        begins = starts_target(cursor) and not cursor.at_stop()
        values[part.field] = read(TargetKind(), cursor) if begins else None
        return
    words = words_of(part.text)
    if isinstance(part, Words):
        _take_words(cursor, words)
    elif cursor.matches(words):
        cursor.at += len(words)
        values[part.field] = True if isinstance(part, Flag) else read(part.kind, cursor)


def _take_words(cursor: Cursor, words: Places) -> None:
    for allowed in words:
        if not cursor.matches((allowed,)):
            raise cursor.error(f"expected `{allowed[0]}`, found {cursor.shown}")
        cursor.take()
