"""Recognize our statements by their first words, before parsing.

The parser hook inside Spark decides by the same table, as the resource `statements.txt` of the jar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.commands.grammar import words_of
from indextables.commands.registry import RULES
from indextables.expr.tokens import leading_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indextables.commands.grammar import Rule
    from indextables.expr.cursor import Places

# `DESCRIBE indextables` and `SET indextables` can mean a table or a key of that name, so the third
# word decides; commands of two words are complete with them
_DECIDING_WORDS = 3


def _prefixes(rules: Iterable[Rule], count: int) -> tuple[Places, ...]:
    return tuple(dict.fromkeys(words_of(rule.start)[:count] for rule in rules))


_OWN = [rule for rule in RULES if not rule.borrowed]
PREFIXES = _prefixes(_OWN, _DECIDING_WORDS)
# statements that are ours only for our own tables
BORROWED = _prefixes([rule for rule in RULES if rule.borrowed], _DECIDING_WORDS)
# statements that are ours if Spark cannot parse them, because a word is misspelled
MISSPELLED = _prefixes(_OWN, _DECIDING_WORDS - 1)


def is_command(text: str) -> bool:
    """Whether this is an IndexTables statement, not one of Spark's."""
    words = leading_words(text, _DECIDING_WORDS)
    return any(
        len(words) >= len(prefix)
        and all(word in allowed for word, allowed in zip(words, prefix, strict=False))
        for prefix in PREFIXES
    )


def statements() -> str:
    """The table as the parser hook reads it: a kind and a prefix per line."""
    kinds = {"own": PREFIXES, "borrowed": BORROWED, "misspelled": MISSPELLED}
    lines = [
        " ".join([kind, *("|".join(words) for words in prefix)])
        for kind, prefixes in kinds.items()
        for prefix in prefixes
    ]
    return "".join(f"{line}\n" for line in sorted(lines))
