"""The files of a table as the store has them: what the log consists of, what the data is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.log import names
from indextables.plan.retention import LogFiles, StoredFile

if TYPE_CHECKING:
    from indextables.log import Log
    from indextables.storage import ObjectMeta

_STATE = re.compile(rf"{names.FOLDER}/state-v(\d{{20}})/(.+)")
_VERSION = re.compile(rf"{names.FOLDER}/(\d{{20}})\.json")
_CHECKPOINT = re.compile(rf"{names.FOLDER}/(\d{{20}})\.checkpoint\..*json")
_STATE_HEADS = ("_manifest.avro", "_manifest.json")
_DATA = (".split", ".crc")
INDEX_FOLDER = "index/"


@dataclass
class Inventory:
    """Every object of a table by its part in it."""

    log: LogFiles
    states: dict[int, list[str]] = field(default_factory=dict)
    checkpoints: dict[int, list[str]] = field(default_factory=dict)
    manifests: list[StoredFile] = field(default_factory=list)
    data: list[StoredFile] = field(default_factory=list)


def take_inventory(log: Log) -> Inventory:
    """List the whole table once."""
    versions: dict[int, int] = {}
    states: dict[int, int] = {}
    checkpoints: dict[int, int] = {}
    found = Inventory(LogFiles({}, {}, {}))
    for meta in log.store.list(""):
        if match := _VERSION.fullmatch(meta.path):
            versions[int(match[1])] = meta.modified_ms
        elif match := _STATE.fullmatch(meta.path):
            version = int(match[1])
            if match[2] in _STATE_HEADS:
                states[version] = meta.modified_ms
            found.states.setdefault(version, []).append(meta.path)
        elif match := _CHECKPOINT.fullmatch(meta.path):
            checkpoints[int(match[1])] = meta.modified_ms
            found.checkpoints.setdefault(int(match[1]), []).append(meta.path)
        elif meta.path.startswith(f"{names.MANIFESTS}/"):
            found.manifests.append(_stored(meta))
        elif _is_data(meta.path):
            found.data.append(_stored(meta))
    pointer = log.reader.pointer()
    at = None if pointer is None else pointer.version
    found.log = LogFiles(versions, states, checkpoints, at)
    return found


def _is_data(path: str) -> bool:
    if path.startswith(f"{names.FOLDER}/"):
        return False
    return path.endswith(_DATA) or path.startswith(INDEX_FOLDER)


def _stored(meta: ObjectMeta) -> StoredFile:
    return StoredFile(meta.path, meta.size, meta.modified_ms)
