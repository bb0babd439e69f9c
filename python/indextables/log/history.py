"""The history of a table, from commitInfo or, without one, from the age of the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from indextables.errors import error
from indextables.log import json_values as read
from indextables.log import names
from indextables.log.names import Listing
from indextables.log.reading import Reader
from indextables.log.replay import Commit

_MILLIS_FROM = (
    100_000_000_000  # larger numbers are milliseconds: as seconds they are beyond the year 5000
)


@dataclass(frozen=True)
class HistoryEntry:
    """One version of the table."""

    version: int
    timestamp_ms: int
    operation: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    engine_info: str | None = None
    read_version: int | None = None
    is_blind_append: bool | None = None
    user_metadata: str | None = None


def history(reader: Reader, limit: int | None = None) -> Iterator[HistoryEntry]:
    """The available versions, newest first."""
    listing = reader.listing()
    if listing.latest is None:
        raise error("TABLE_NOT_FOUND", path=reader.store.url)
    found = sorted(_versions(listing), reverse=True)
    for version in found[:limit]:
        entry = entry_of(reader, version, listing)
        if entry is not None:
            yield entry


def _versions(listing: Listing) -> set[int]:
    return {*listing.versions, *listing.states, *listing.checkpoints}


def entry_of(reader: Reader, version: int, listing: Listing) -> HistoryEntry | None:
    """The entry of one version, if available; without a version file, from its checkpoint."""
    commit = reader.commit(version) if version in listing.versions else None
    if commit is not None:
        return _entry(commit, reader)
    if version in listing.states and reader.states.is_complete(version):
        return HistoryEntry(version, reader.states.read(version).created_at)
    meta = reader.store.head(names.checkpoint_file(version))
    return None if meta is None else HistoryEntry(version, meta.modified_ms)


def _entry(commit: Commit, reader: Reader) -> HistoryEntry:
    info = commit.info
    if info is None:
        return HistoryEntry(commit.version, reader.file_time(commit.version))
    return HistoryEntry(
        commit.version,
        info.timestamp,
        info.operation,
        info.parameters,
        info.metrics,
        info.engine_info,
        info.read_version,
        info.is_blind_append,
        info.user_metadata,
    )


def version_at(reader: Reader, timestamp_ms: int) -> int:
    """The version that was newest at a timestamp.

    Timestamps of our commits always increase, so binary search finds it.
    """
    listing = reader.listing()
    first, last = listing.earliest, listing.latest
    if first is None or last is None:
        raise error("TABLE_NOT_FOUND", path=reader.store.url)
    versions = [v for v in sorted(_versions(listing)) if v >= first]
    low, high = 0, len(versions)
    oldest = None
    while low < high:
        middle = (low + high) // 2
        entry = entry_of(reader, versions[middle], listing)
        if entry is None:
            # only the folder of a state is left
            del versions[middle]
            high -= 1
        elif entry.timestamp_ms <= timestamp_ms:
            low = middle + 1
        else:
            high, oldest = middle, entry
    if low == 0:
        raise error(
            "TIMESTAMP_NOT_AVAILABLE",
            timestamp=_render(timestamp_ms),
            path=reader.store.url,
            first=_render(oldest.timestamp_ms if oldest else 0),
        )
    return versions[low - 1]


def parse_timestamp(text: str) -> int:
    """Milliseconds since 1970 from an ISO string (UTC without an offset) or an epoch (s or ms)."""
    try:
        return read.timestamp(_millis(text.strip()))
    except (ValueError, OverflowError):
        raise error("TIMESTAMP_INVALID", timestamp=text) from None


def _millis(text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        given = datetime.fromisoformat(text)
        given = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
        return int(given.timestamp() * 1000)
    return int(number if abs(number) >= _MILLIS_FROM else number * 1000)


def _render(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
