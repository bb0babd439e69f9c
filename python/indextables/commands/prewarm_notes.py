"""What PREWARM loaded of which table, remembered for machines that come later.

The note lies on the machine of the driver, where any process that plans a query finds it.
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
    """Remember the last PREWARM of a table."""
    write_json(_file(path), asdict(note))


def noted_prewarm(path: str) -> Note | None:
    """The last PREWARM of a table, if there was one since the caches were flushed."""
    found = read_json(_file(path))
    if found is None:
        return None
    return Note(tuple(found["segments"]), tuple(found["fields"]), found["where"])


def forget_prewarms() -> None:
    """Nothing is loaded any more."""
    for file in _folder().glob("*.json"):
        file.unlink(missing_ok=True)


def _folder() -> Path:
    return host_folder("prewarmed", "tables")


def _file(path: str) -> Path:
    return _folder() / f"{hashlib.sha256(path.encode()).hexdigest()}.json"
