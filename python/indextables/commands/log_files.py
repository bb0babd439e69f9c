"""The files of a table as the store has them: what the log consists of, what the data is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.log import names
from indextables.plan.orphans import StoredFile

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from indextables.log import Log

_STATE = re.compile(rf"{names.FOLDER}/state-v(\d{{20}})/(.+)")
_VERSION = re.compile(rf"{names.FOLDER}/(\d{{20}})\.json")
_CHECKPOINT = re.compile(rf"{names.FOLDER}/(\d{{20}})\.checkpoint\..*json")
_DATA = (".split", ".crc")
INDEX_FOLDER = "index/"


@dataclass(frozen=True)
class Inventory:
    """Every object of a table by its part in it; states and checkpoints are several files each."""

    versions: Mapping[int, str]
    states: Mapping[int, tuple[str, ...]]
    checkpoints: Mapping[int, tuple[str, ...]]
    data: tuple[StoredFile, ...] = ()

    @property
    def bases(self) -> set[int]:
        """Versions that can be read without the ones before them."""
        heads = {v for v, paths in self.states.items() if any("/_manifest." in p for p in paths)}
        return heads | {*self.checkpoints}

    def without(self, paths: Collection[str]) -> Inventory:
        """What is left of the log without these files."""
        gone = {*paths}
        return Inventory(
            {v: path for v, path in self.versions.items() if path not in gone},
            _left(self.states, gone),
            {v: found for v, found in self.checkpoints.items() if not gone & {*found}},
            self.data,
        )

    def below(self, version: int) -> list[str]:
        """The files of the log that only older versions need, in the order they may go."""
        paths = [path for v, path in sorted(self.versions.items()) if v < version]
        for found in (self.checkpoints, self.states):
            for old in sorted(found):
                if old < version:
                    # the head first: without it there is no state
                    paths += sorted(found[old], key=lambda path: "/_manifest." not in path)
        return paths


def _left(found: Mapping[int, tuple[str, ...]], gone: set[str]) -> dict[int, tuple[str, ...]]:
    kept = {version: tuple(p for p in paths if p not in gone) for version, paths in found.items()}
    return {version: paths for version, paths in kept.items() if paths}


def take_inventory(log: Log) -> Inventory:
    """List the whole table once."""
    versions: dict[int, str] = {}
    states: dict[int, tuple[str, ...]] = {}
    checkpoints: dict[int, tuple[str, ...]] = {}
    data: list[StoredFile] = []
    for meta in log.store.list(""):
        path = meta.path
        if match := _VERSION.fullmatch(path):
            versions[int(match[1])] = path
        elif match := _STATE.fullmatch(path):
            states[int(match[1])] = (*states.get(int(match[1]), ()), path)
        elif match := _CHECKPOINT.fullmatch(path):
            checkpoints[int(match[1])] = (*checkpoints.get(int(match[1]), ()), path)
        elif _is_data(path):
            data.append(StoredFile(path, meta.size, meta.modified_ms))
    return Inventory(versions, states, checkpoints, tuple(data))


def _is_data(path: str) -> bool:
    if path.startswith(f"{names.FOLDER}/"):
        return False
    return path.endswith(_DATA) or path.startswith(INDEX_FOLDER)
