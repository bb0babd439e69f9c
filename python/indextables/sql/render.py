"""Command to text; the text parses to the same command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.sql.grammar import BY_COMMAND, Clause, Flag, Words, shown_words

if TYPE_CHECKING:
    from indextables.sql.commands import Command


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
            shown.append(part.value.write(value))
    return " ".join(shown)
