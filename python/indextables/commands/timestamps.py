"""Timestamps of the log as output values."""

from __future__ import annotations

from datetime import UTC, datetime


def to_datetime(millis: int | None) -> datetime | None:
    """Convert a timestamp of the log to a value of a timestamp column."""
    return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC)
