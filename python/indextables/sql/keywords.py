"""How a statement is known to be ours before it is parsed: its first words.

The table is data, because the parser hook inside Spark decides by the same one.
"""

from __future__ import annotations

from indextables.sql.grammar import RULES, words_of
from indextables.sql.tokens import leading_words

# `DESCRIBE indextables` and `SET indextables` can mean a table or a key of that name, so the third
# word decides; commands of two words are complete with them
_DECIDING_WORDS = 3
PREFIXES: tuple[tuple[tuple[str, ...], ...], ...] = tuple(
    dict.fromkeys(words_of(rule.start)[:_DECIDING_WORDS] for rule in RULES)
)


def is_command(text: str) -> bool:
    """Whether this statement is for us and not for Spark's own parser."""
    words = leading_words(text, _DECIDING_WORDS)
    return any(
        len(words) >= len(prefix)
        and all(word in allowed for word, allowed in zip(words, prefix, strict=False))
        for prefix in PREFIXES
    )
