"""Files of a table that nothing references: pure, from a listing and references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class StoredFile:
    """A file in the table's folder."""

    path: str
    size: int
    modified_ms: int


def plan_orphans(
    stored: Iterable[StoredFile], referenced: Container[str], too_old_ms: float, limit: int
) -> tuple[tuple[StoredFile, ...], int]:
    """Files that nothing references and that are too old to belong to a running writer.

    The oldest come first; the second value is their total number, beyond the limit too.
    """
    orphans = sorted(
        (
            file
            for file in stored
            if file.modified_ms <= too_old_ms and _owner(file.path) not in referenced
        ),
        key=lambda file: (file.modified_ms, file.path),
    )
    return tuple(orphans[:limit]), len(orphans)


def _owner(path: str) -> str:
    """The file a checksum file of Hadoop belongs to, or the path itself."""
    folder, _, name = path.rpartition("/")
    if not name.endswith(".crc"):
        return path
    owner = name.removesuffix(".crc").removeprefix(".")
    return f"{folder}/{owner}" if folder else owner
