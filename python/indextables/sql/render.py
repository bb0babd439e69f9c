"""Render a command as text that parses to the same command; render a rule as a usage line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.commands.grammar import (
    Clause,
    Flag,
    MaybeTarget,
    Part,
    Rule,
    TargetKind,
    Words,
    shown_words,
)
from indextables.commands.registry import BY_COMMAND
from indextables.sql.values import usage_of, write

if TYPE_CHECKING:
    from indextables.commands.grammar import Command


def render(command: Command) -> str:
    """The canonical text of a command."""
    rule = BY_COMMAND[type(command)]
    shown = [shown_words(rule.start)]
    for part in rule.parts:
        if isinstance(part, Words):
            shown.append(shown_words(part.text))
            continue
        value = getattr(command, part.field)
        if value is None or value is False or value == ():
            continue
        if isinstance(part, Clause | Flag):
            shown.append(shown_words(part.text))
        if not isinstance(part, Flag):
            shown.append(write(TargetKind() if isinstance(part, MaybeTarget) else part.kind, value))
    return " ".join(shown)


def usage(rule: Rule) -> str:
    """The rule as a usage line."""
    shown = [shown_words(rule.start)]
    for part in rule.parts:
        if isinstance(part, Words):
            shown.append(shown_words(part.text))
        elif isinstance(part, Part):
            shown.append(usage_of(part.kind))
        elif isinstance(part, MaybeTarget):
            shown.append(f"[{usage_of(TargetKind())}]")
        elif isinstance(part, Clause):
            shown.append(f"[{shown_words(part.text)} {usage_of(part.kind)}]")
        else:
            shown.append(f"[{shown_words(part.text)}]")
    return " ".join(shown)
