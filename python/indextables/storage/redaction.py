"""Striking secrets out of text that somebody else wrote: servers echo what they were sent."""

from __future__ import annotations

from collections.abc import Iterable

from indextables.config.secret import REDACTED


def strike(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if secret:
            text = text.replace(secret, REDACTED)
    return text
