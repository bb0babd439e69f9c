"""A record of what PREWARM loaded, for hosts that join later.

The record is on the driver's host, where every process that plans a query finds it.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from indextables.runtime.host_files import host_folder, read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Note:
    """The parts and fields, by their names in the command, and the partitions; "" is all."""

    segments: tuple[str, ...]
    fields: tuple[str, ...]
    where: str


def note_prewarm(path: str, note: Note) -> None:
    """Record the last PREWARM of a table."""
    write_json(_file(path), asdict(note))


def noted_prewarm(path: str) -> Note | None:
    """Return the last PREWARM of a table since the caches were flushed, or None."""
    found = read_json(_file(path))
    if found is None:
        return None
    return Note(tuple(found["segments"]), tuple(found["fields"]), found["where"])


def forget_prewarms() -> None:
    """Delete all records."""
    for file in _folder().glob("*.json"):
        file.unlink(missing_ok=True)


def _folder() -> Path:
    return host_folder("prewarmed", "tables")


def _file(path: str) -> Path:
    return _folder() / f"{hashlib.sha256(path.encode()).hexdigest()}.json"
