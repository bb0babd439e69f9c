"""A value that never prints: keys and tokens stay in it until a store is opened."""

from __future__ import annotations

REDACTED = "***REDACTED***"


class Secret:
    """Text that shows as `***REDACTED***` wherever it is printed, logged or formatted.

    It is a value: equal secrets are equal and hash alike. It cannot be written as JSON by
    accident; whoever needs the text says so by `reveal`.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return REDACTED

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (self._text,)
