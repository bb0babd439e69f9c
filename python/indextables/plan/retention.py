"""What a table's retention lets go: pure, from file names and ages to what may be deleted.

A version can be read when a base (a state, a JSON checkpoint or version 0) at or below it is there
and every version file in between. Cleaning keeps the newest base and everything after it, so the
newest version always stays; older ones go when they are old enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class LogFiles:
    """The versions a log speaks of, each with the time its file was written.

    `checkpoints` are JSON checkpoints, `pointer` is the version `_last_checkpoint` names.
    """

    versions: Mapping[int, int]
    states: Mapping[int, int]
    checkpoints: Mapping[int, int]
    pointer: int | None = None

    @property
    def newest_base(self) -> int | None:
        """The version readers start from."""
        return max((*self.states, *self.checkpoints), default=None)


@dataclass(frozen=True)
class Retention:
    """How long things are kept."""

    log_ms: float
    state_ms: float
    states: int


@dataclass(frozen=True)
class LogCleanup:
    """The versions whose files may be deleted, by kind."""

    versions: tuple[int, ...] = ()
    states: tuple[int, ...] = ()
    checkpoints: tuple[int, ...] = ()


def plan_log_cleanup(files: LogFiles, retention: Retention, now_ms: int) -> LogCleanup:
    """What of a log is older than its retention and not needed by anything that stays."""
    base = files.newest_base
    if base is None:
        return LogCleanup()
    states = _expired_states(files, retention, now_ms)
    too_old = now_ms - retention.log_ms
    checkpoints = tuple(
        version
        for version, written in sorted(files.checkpoints.items())
        if version < base and written <= too_old and version != files.pointer
    )
    return LogCleanup(_expired_versions(files, base, too_old), states, checkpoints)


def _expired_versions(files: LogFiles, base: int, too_old: float) -> tuple[int, ...]:
    """A run from the oldest on: a gap in the middle would cut off what is older."""
    expired: list[int] = []
    for version, written in sorted(files.versions.items()):
        if version >= base or version >= max(files.versions) or written > too_old:
            break
        expired.append(version)
    return tuple(expired)


def _expired_states(files: LogFiles, retention: Retention, now_ms: int) -> tuple[int, ...]:
    newest_first = sorted(files.states, reverse=True)
    kept = {*newest_first[: max(1, retention.states)], files.pointer, files.newest_base}
    too_old = now_ms - retention.state_ms
    return tuple(
        version
        for version in sorted(files.states)
        if version not in kept and files.states[version] <= too_old
    )


def plan_truncation(files: LogFiles, base: int) -> LogCleanup:
    """Everything below a base, whatever its age: only the newest version stays."""
    return LogCleanup(
        tuple(sorted(v for v in files.versions if v < base)),
        tuple(sorted(v for v in files.states if v < base)),
        tuple(sorted(v for v in files.checkpoints if v < base)),
    )


@dataclass(frozen=True)
class StoredFile:
    """A file in the table's folder."""

    path: str
    size: int
    modified_ms: int


def plan_orphans(
    stored: Collection[StoredFile], referenced: Collection[str], too_old_ms: float, limit: int
) -> tuple[tuple[StoredFile, ...], int]:
    """Files that nothing refers to and that are too old to belong to a running writer.

    The oldest come first; the second value counts all there are, beyond the limit too.
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
