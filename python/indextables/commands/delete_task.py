"""Delete files of a table: a few of them here, many on the executors."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from indextables.config import maintenance as keys
from indextables.errors import StorageError
from indextables.runtime.side_by_side import side_by_side
from indextables.runtime.steps import run_tasks
from indextables.storage import Store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.read.table import OpenTable
    from indextables.runtime.steps import Steps

_log = logging.getLogger("indextables.purge")
_DELETIONS = 8  # files that one process deletes concurrently
PER_TASK = 1000  # files; as many are deleted without a task


def delete_files(table: OpenTable, paths: Sequence[str]) -> Steps[list[str]]:
    """Delete files and return those that could not be deleted."""
    tries = table.settings.get(keys.PURGE_RETRIES) + 1
    parallelism = table.settings.get(keys.PURGE_PARALLELISM) or _DELETIONS
    if len(paths) <= PER_TASK:
        return _delete(table.store, paths, tries, parallelism)
    common = {"url": table.store.url, "store": table.store.native(), "tries": tries}
    payloads = [
        {**common, "parallelism": parallelism, "paths": paths[start : start + PER_TASK]}
        for start in range(0, len(paths), PER_TASK)
    ]
    done = yield from run_tasks("delete", payloads)
    return [path for each in done for path in each["failed"]]


def run_delete_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Delete some of the files."""
    url, options = payload["store"]
    store = Store(payload["url"], (url, options))
    return {"failed": _delete(store, payload["paths"], payload["tries"], payload["parallelism"])}


def _delete(store: Store, paths: Sequence[str], tries: int, parallelism: int) -> list[str]:
    done = side_by_side(partial(_delete_one, store, tries), paths, parallelism)
    return [path for path, deleted in zip(paths, done, strict=True) if not deleted]


def _delete_one(store: Store, tries: int, path: str) -> bool:
    for attempt in range(tries):
        try:
            store.delete([path])
        except StorageError as failure:
            _log.warning("could not delete `%s` (try %d): %s", path, attempt + 1, failure)
        else:
            return True
    return False
