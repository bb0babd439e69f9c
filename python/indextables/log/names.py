"""Names of the files of a log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

FOLDER = "_transaction_log"
POINTER = f"{FOLDER}/_last_checkpoint"
MANIFESTS = f"{FOLDER}/manifests"
_VERSION = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.json")
_PART = re.compile(r"(\d{20})\.checkpoint\..+\.json")
_STATE = re.compile(r"state-v(\d{20})")
_MANIFEST = re.compile(rf"{FOLDER}/(manifests/.+|state-v\d+/(?!_manifest\.).+\.avro)")
_ANY_STATE = re.compile(r"state-v\d+")
_IN_LOG = re.compile(r"manifests/|state-v\d+/")


def version_file(version: int) -> str:
    """The path of a version file."""
    return f"{FOLDER}/{version:020d}.json"


def checkpoint_file(version: int) -> str:
    """The path of a JSON checkpoint."""
    return f"{FOLDER}/{version:020d}.checkpoint.json"


def part_name(version: int, checkpoint_id: str, part: int) -> str:
    """The name of one part of a JSON checkpoint of several parts."""
    return f"{version:020d}.checkpoint.{checkpoint_id}.{part:05d}.json"


def parts_of(version: int, checkpoint_id: str, names: Iterable[str]) -> list[str]:
    """Those of these names that are parts of a JSON checkpoint, in order of their numbers."""
    pattern = re.compile(rf"{version:020d}\.checkpoint\.{re.escape(checkpoint_id)}\.(\d+)\.json")
    found = {int(match[1]): name for name in names if (match := pattern.fullmatch(name))}
    return [found[number] for number in sorted(found)]


def state_name(version: int) -> str:
    """The name of a state's folder."""
    return f"state-v{version:020d}"


def is_state_folder(name: str) -> bool:
    """Whether this is the name of a state's folder, by whatever writer."""
    return _ANY_STATE.fullmatch(name) is not None


def state_file(version: int) -> str:
    """The path of a state manifest."""
    return state_files(state_name(version))[0]


def state_files(folder: str) -> tuple[str, str]:
    """The possible paths of the state manifest in a folder: Avro, or JSON in an older protocol."""
    return f"{FOLDER}/{folder}/_manifest.avro", f"{FOLDER}/{folder}/_manifest.json"


def manifest_path(listed: str, folder: str) -> str:
    """The path of a manifest inside the log, given how the state in this folder lists it.

    Shared and normalized legacy paths are relative to the log, all others to the state's folder.
    """
    return listed if _IN_LOG.match(listed) else f"{folder}/{listed}"


def is_manifest(path: str) -> bool:
    """Whether a path is a manifest: shared, or in the folder of a state by older writers."""
    return _MANIFEST.fullmatch(path) is not None


class FileKind(StrEnum):
    """The kinds of log files."""

    VERSION = "version"
    CHECKPOINT = "checkpoint"
    STATE = "state"


def classify(path: str) -> tuple[FileKind, int] | None:
    """The kind of log file at a path of the table, and its version; None for other files."""
    for kind, pattern in _FILES.items():
        if match := pattern.fullmatch(path):
            return kind, int(match[1])
    return None


def is_in_log(path: str) -> bool:
    """Whether a path of the table is inside the transaction log."""
    return path.startswith(f"{FOLDER}/")


def tables_below(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders of other tables in a table's folder, with a slash, from the paths of all files.

    Their files belong to them: this table neither reads nor deletes them.
    """
    inside = f"/{FOLDER}/"
    return tuple({path.partition(inside)[0] + "/" for path in paths if inside in path})


def is_state_head(path: str) -> bool:
    """Whether a file is the state manifest, without which a state does not exist."""
    return "/_manifest." in path


_FILES = {
    FileKind.VERSION: re.compile(rf"{FOLDER}/{_VERSION.pattern}"),
    FileKind.CHECKPOINT: re.compile(rf"{FOLDER}/(\d{{20}})\.checkpoint\.(?:.+\.)?json"),
    FileKind.STATE: re.compile(rf"{FOLDER}/{_STATE.pattern}/.+"),
}


@dataclass(frozen=True)
class Listing:
    """Return the versions in a log's file names, ascending."""

    versions: tuple[int, ...] = ()
    checkpoints: tuple[int, ...] = ()
    states: tuple[int, ...] = ()

    @property
    def latest(self) -> int | None:
        """The newest version that any file belongs to."""
        return max((*self.versions[-1:], *self.checkpoints[-1:], *self.states[-1:]), default=None)

    @property
    def bases(self) -> tuple[int, ...]:
        """The versions from which replay can start, ascending."""
        kept = {*self.checkpoints, *self.states}
        if self.versions[:1] != (0,):
            return tuple(sorted(kept))
        # some writers number a later state 0: the version file defines version 0
        return (-1, *sorted(kept - {0}))

    @property
    def readable(self) -> tuple[range, ...]:
        """The readable versions: bases, and the version files that follow without a gap."""
        files = set(self.versions)
        runs: list[range] = []
        for base in self.bases:
            start = max(0, base)
            end = base + 1
            while end in files:
                end += 1
            if runs and start <= runs[-1].stop:
                runs[-1] = range(runs[-1].start, max(end, runs[-1].stop))
            elif end > start:
                runs.append(range(start, end))
        return tuple(runs)

    @property
    def earliest(self) -> int | None:
        """The oldest readable version."""
        return self.readable[0].start if self.readable else None


def parse_names(names: Iterable[str]) -> Listing:
    """The listing of the names in a transaction log; other names are ignored."""
    versions: set[int] = set()
    checkpoints: set[int] = set()
    states: set[int] = set()
    for name in names:
        for pattern, found in ((_VERSION, versions), (_CHECKPOINT, checkpoints), (_STATE, states)):
            if match := pattern.fullmatch(name):
                found.add(int(match[1]))
    return Listing(tuple(sorted(versions)), tuple(sorted(checkpoints)), tuple(sorted(states)))


def part_version(name: str) -> int | None:
    """The version of a part of a JSON checkpoint, or None for other names."""
    if _CHECKPOINT.fullmatch(name):
        return None
    match = _PART.fullmatch(name)
    return int(match[1]) if match else None
