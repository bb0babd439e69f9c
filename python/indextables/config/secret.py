"""A value that never prints: credentials stay in it until a store is opened."""

from __future__ import annotations

REDACTED = "***REDACTED***"


class Secret:
    """A string that shows as `***REDACTED***` wherever it is printed, logged or formatted.

    Equal secrets compare equal and have the same hash. A secret cannot be serialized as JSON by
    accident; `reveal` returns the string.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the string itself."""
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
