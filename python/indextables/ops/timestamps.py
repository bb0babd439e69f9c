"""Moments: milliseconds of the log, values of answers, texts of commands."""

from __future__ import annotations

from datetime import UTC, datetime

from indextables.errors import error


def moment(millis: int | None) -> datetime | None:
    """A moment of the log as a value of a timestamp column."""
    return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC)


def parse_moment(text: str) -> int:
    """Milliseconds of a moment written as ISO date or date and time, or as milliseconds.

    Without an offset it is in UTC, whatever the machine's zone: the same text means the same moment
    everywhere.
    """
    cleaned = text.strip()
    if cleaned.isascii() and cleaned.isdigit():
        return int(cleaned)
    try:
        found = datetime.fromisoformat(cleaned)
    except ValueError:
        raise error("TIMESTAMP_INVALID", text=text) from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
