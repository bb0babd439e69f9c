"""All commands, collected from the modules of this package."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from indextables import commands
from indextables.commands.grammar import Rule, words_of

if TYPE_CHECKING:
    from indextables.commands.grammar import Command
    from indextables.model.types import Struct


def _collect() -> tuple[Rule, ...]:
    found: list[Rule] = []
    for module in iter_modules(commands.__path__):
        if module.name != "registry":
            found += getattr(import_module(f"{commands.__name__}.{module.name}"), "RULES", ())
    # if the words of one rule are a prefix of another's, the longer rule is tried first
    return tuple(sorted(found, key=lambda rule: (-len(words_of(rule.start)), rule.start)))


RULES = _collect()
# render a command with its own syntax, not a borrowed one
BY_COMMAND: dict[type[Command], Rule] = {
    rule.command: rule for rule in sorted(RULES, key=lambda rule: not rule.borrowed)
}


def output_of(command: Command) -> Struct:
    """Return the output columns of a command."""
    return BY_COMMAND[type(command)].output
