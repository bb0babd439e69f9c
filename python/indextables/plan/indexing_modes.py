"""The indexing modes of companion columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from indextables.engine.writer import check_tokenizer
from indextables.errors import IndexTablesError, error
from indextables.expr.values import kind_of
from indextables.model.types import Field
from indextables.plan.columns import HASH

# modes by the role that a column has in the index
_ROLES = {
    "string": "string",
    "exact_only": "text",
    "text": "text",
    "ip": "ip",
    "ipaddress": "ip",
    "json": "json",
    "text_uuid_strip": "text",
    "text_uuid_exactonly": "text",
}
_TOKENIZERS = {
    "exact_only": HASH,
    "text_uuid_strip": "strip(uuid)",
    "text_uuid_exactonly": "whole(uuid)",
}
# modes that a regular expression follows, by the engine's name of their tokenizer
_PATTERNS = {"text_custom_strip": "strip", "text_custom_exactonly": "whole"}


@dataclass(frozen=True)
class IndexingMode:
    """A mode as it is stored: its name in lower case, its pattern as written."""

    name: str
    pattern: str = ""

    @classmethod
    def parse(cls, text: str) -> IndexingMode:
        """The mode of a clause, such as `text` or `text_custom_strip:[A-Z]+`."""
        name, _, pattern = text.partition(":")
        return cls(name.lower(), pattern)

    def __str__(self) -> str:
        return f"{self.name}:{self.pattern}" if self.pattern else self.name

    @property
    def role(self) -> str | None:
        """The role of a column with this mode; None if the mode does not exist."""
        if self.pattern or self.name in _PATTERNS:
            return "text" if self.pattern and self.name in _PATTERNS else None
        return _ROLES.get(self.name)

    @property
    def tokenizer(self) -> str:
        """The tokenizer of a text column."""
        if self.name in _PATTERNS:
            # in hexadecimal digits any pattern is one word
            return f"{_PATTERNS[self.name]}({self.pattern.encode().hex()})"
        return _TOKENIZERS.get(self.name, "default")

    @property
    def record(self) -> str:
        """What the index stores for a token: whole values have no positions."""
        return "basic" if self.name == "exact_only" else "position"


def check_mode(field: Field, text: str) -> None:
    """Raise an error unless the mode exists and suits the column."""
    mode, name, kind = IndexingMode.parse(text), field.name, kind_of(field.type)
    if mode.role is None:
        supported = ", ".join([*_ROLES, *(f"{each}:<regex>" for each in _PATTERNS)])
        raise clause_problem(f"mode `{text}` of `{name}` is not supported", [f"modes: {supported}"])
    if kind != "string" and not (mode.role == "json" and kind in ("struct", "array", "map")):
        problem = f"mode `{text}` of `{name}` needs a string column, it is {kind}"
        raise clause_problem(problem, [name])
    if mode.role == "text":
        try:
            check_tokenizer(mode.tokenizer)
        except IndexTablesError:
            problem = f"mode `{text}` of `{name}` has a pattern that is not a regular expression"
            raise clause_problem(problem, [name]) from None


def clause_problem(problem: str, available: Sequence[str]) -> Exception:
    """The error for a clause that does not fit the source, with valid values."""
    return error("COMPANION_CLAUSE", problem=problem, available=", ".join(available))
