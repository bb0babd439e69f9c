"""Find the unreferenced files of a large table: tasks list its folders on the executors.

The planner process asks for partition folders until there are enough of them, and each task lists
some. A task knows digests of the paths that are referenced in its folders, so that it returns only
the files that may be deleted. Two paths with the same digest keep a file that could be deleted,
never the reverse.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import defaultdict
from dataclasses import astuple
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from indextables.commands.log_files import INDEX_FOLDER, data_files
from indextables.config import log as log_keys
from indextables.config import maintenance as keys
from indextables.log import names
from indextables.plan.orphans import StoredFile, plan_orphans
from indextables.runtime.side_by_side import side_by_side
from indextables.runtime.steps import run_tasks
from indextables.storage import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from indextables.read.table import OpenTable
    from indextables.runtime.steps import Steps
    from indextables.storage import ObjectMeta

_ENOUGH = 64  # folders; with fewer, the next partition column divides them
_LISTINGS = 8  # folders that one task lists concurrently, and the fewest that it gets
_MOST_PER_TASK = 64  # folders
_TASKS = 256  # whose results are in memory at once
_DIGEST = 8  # bytes


class Digests:
    """Paths, of which only digests are known."""

    def __init__(self, packed: bytes) -> None:
        self._known = {packed[i : i + _DIGEST] for i in range(0, len(packed), _DIGEST)}

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and _digest(path) in self._known

    @staticmethod
    def pack(paths: Iterable[str]) -> bytes:
        """The digests of some paths, one after another."""
        return b"".join(map(_digest, paths))


def _digest(path: str) -> bytes:
    return blake2b(path.encode(), digest_size=_DIGEST).digest()


def find_unreferenced(
    table: OpenTable, referenced: set[str], too_old_ms: float
) -> Steps[tuple[list[StoredFile], int]]:
    """The oldest files that may be deleted, as many as one PURGE deletes, and the number of all."""
    limit = table.settings.get(keys.PURGE_MAX_FILES)
    readers = table.settings.get(log_keys.MAX_CONCURRENT_READS)
    levels = len(table.snapshot.metadata.partition_columns)
    above, folders = _divide(table.store, levels, readers)
    files, count = plan_orphans(data_files(above), referenced, too_old_ms, limit)
    common = {"url": table.store.url, "store": table.store.native(), "too_old_ms": too_old_ms}
    payloads = [
        {**common, "limit": limit, "folders": chosen, "referenced": b64encode(packed).decode()}
        for chosen, packed in _shares(folders, referenced)
    ]
    for start in range(0, len(payloads), _TASKS):
        done = yield from run_tasks("list_orphans", payloads[start : start + _TASKS])
        found = (StoredFile(*file) for each in done for file in each["files"])
        count += sum(each["count"] for each in done)
        files, _ = plan_orphans((*files, *found), (), too_old_ms, limit)
    return list(files), count


def run_list_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of some folders that may be deleted, the oldest if there are too many."""
    url, options = payload["store"]
    store = Store(payload["url"], (url, options))
    known = Digests(b64decode(payload["referenced"]))
    too_old_ms, limit = payload["too_old_ms"], payload["limit"]

    def one(folder: str) -> tuple[tuple[StoredFile, ...], int]:
        return plan_orphans(data_files(store.list(folder)), known, too_old_ms, limit)

    done = side_by_side(one, payload["folders"], _LISTINGS)
    found = (file for files, _ in done for file in files)
    oldest, _ = plan_orphans(found, (), too_old_ms, limit)
    return {"files": [astuple(file) for file in oldest], "count": sum(count for _, count in done)}


def _divide(store: Store, levels: int, readers: int) -> tuple[list[ObjectMeta], list[str]]:
    """Folders that hold all data together, and the files outside them."""
    files, folders = store.inside("")
    kept = [folder for folder in folders if f"{folder}/" == INDEX_FOLDER]
    folders = [folder for folder in folders if folder not in (*kept, names.FOLDER)]
    for _ in range(levels - 1):
        if len(folders) >= _ENOUGH:
            break
        below = side_by_side(store.inside, folders, readers)
        # a folder with a log of its own is another table
        logs = [f"{folder}/{names.FOLDER}" for folder in folders]
        below = [each for each, log in zip(below, logs, strict=True) if log not in each[1]]
        files = [*files, *(file for found, _ in below for file in found)]
        folders = [folder for _, found in below for folder in found]
    return files, [*kept, *folders]


def _shares(folders: Sequence[str], referenced: Iterable[str]) -> list[tuple[list[str], bytes]]:
    """The folders of each task, and the digests of the paths that are referenced in them."""
    per_task = min(max(len(folders) // _ENOUGH, _LISTINGS), _MOST_PER_TASK)
    chosen = [list(folders[i : i + per_task]) for i in range(0, len(folders), per_task)]
    task_of: dict[str, int | None] = {
        folder: number for number, share in enumerate(chosen) for folder in share
    }
    paths: defaultdict[int | None, list[str]] = defaultdict(list)
    for path in referenced:
        paths[_task(path.rpartition("/")[0], task_of)].append(path)
    return [(share, Digests.pack(paths[number])) for number, share in enumerate(chosen)]


def _task(folder: str, task_of: dict[str, int | None]) -> int | None:
    """The task that lists a folder; folders below others are added as they are met."""
    if folder not in task_of:
        task_of[folder] = _task(folder.rpartition("/")[0], task_of) if folder else None
    return task_of[folder]
