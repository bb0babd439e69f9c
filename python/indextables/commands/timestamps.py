"""Moments of the log as values of answers."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(millis: int | None) -> datetime | None:
    """A moment of the log as a value of a timestamp column."""
    return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC)
