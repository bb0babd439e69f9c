"""The files of a table in the store, classified as log or data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from indextables.log import names
from indextables.log.names import FileKind
from indextables.plan.orphans import StoredFile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from indextables.log import Log
    from indextables.storage import ObjectMeta

_DATA = (".split", ".crc")
INDEX_FOLDER = "index/"


@dataclass(frozen=True)
class Inventory:
    """All objects of a table by role; a state or checkpoint consists of several files."""

    versions: Mapping[int, str]
    states: Mapping[int, tuple[str, ...]]
    checkpoints: Mapping[int, tuple[str, ...]]
    data: tuple[StoredFile, ...] = ()

    @property
    def bases(self) -> set[int]:
        """Versions that can be read without earlier ones."""
        states = {v for v, paths in self.states.items() if any(map(names.is_state_head, paths))}
        # parts without it are of a checkpoint that was never completed
        whole = {v for v, paths in self.checkpoints.items() if names.checkpoint_file(v) in paths}
        return states | whole

    def without(self, paths: Collection[str]) -> Inventory:
        """Return the log without these files."""
        gone = {*paths}
        return Inventory(
            {v: path for v, path in self.versions.items() if path not in gone},
            _left(self.states, gone),
            {v: found for v, found in self.checkpoints.items() if not gone & {*found}},
            self.data,
        )

    def below(self, version: int) -> list[str]:
        """Return the log files that only older versions need, in safe order of deletion."""
        paths = [path for v, path in sorted(self.versions.items()) if v < version]
        for found in (self.checkpoints, self.states):
            for old in sorted(found):
                if old < version:
                    # the manifest list first: without it the state does not exist
                    paths += sorted(found[old], key=lambda path: not names.is_state_head(path))
        return paths


def _left(found: Mapping[int, tuple[str, ...]], gone: set[str]) -> dict[int, tuple[str, ...]]:
    kept = {version: tuple(p for p in paths if p not in gone) for version, paths in found.items()}
    return {version: paths for version, paths in kept.items() if paths}


def take_inventory(log: Log) -> Inventory:
    """List the whole table once."""
    return _inventory(log.store.list(""))


def take_small_inventory(log: Log, limit: int) -> Inventory | None:
    """The same of a table of up to so many files, None of a larger one."""
    found = list(islice(log.store.list(""), limit + 1))
    return _inventory(found) if len(found) <= limit else None


def take_log_inventory(log: Log) -> Inventory:
    """List the transaction log alone."""
    return _inventory(log.store.list(names.FOLDER))


def data_files(listed: Iterable[ObjectMeta]) -> list[StoredFile]:
    """The splits and index files among listed files, with their checksum files."""
    found = list(listed)
    others = names.tables_below(meta.path for meta in found)
    own = (meta for meta in found if not meta.path.startswith(others))
    return [_stored(meta) for meta in own if _is_data(meta.path)]


def _inventory(listed: Iterable[ObjectMeta]) -> Inventory:
    found: dict[FileKind, dict[int, tuple[str, ...]]] = {kind: {} for kind in FileKind}
    listed = list(listed)
    for meta in listed:
        place = names.classify(meta.path)
        if place is not None:
            kind, version = place
            found[kind][version] = (*found[kind].get(version, ()), meta.path)
    versions = {version: path for version, (path,) in found[FileKind.VERSION].items()}
    return Inventory(
        versions, found[FileKind.STATE], found[FileKind.CHECKPOINT], tuple(data_files(listed))
    )


def _stored(meta: ObjectMeta) -> StoredFile:
    return StoredFile(meta.path, meta.size, meta.modified_ms)


def _is_data(path: str) -> bool:
    data = path.endswith(_DATA) or path.startswith(INDEX_FOLDER)
    return data and not names.is_in_log(path)
