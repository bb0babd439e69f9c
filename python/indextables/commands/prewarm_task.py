"""Load splits into the caches of one host."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from indextables.engine.cache import sync_cache
from indextables.engine.split import Split
from indextables.errors import IndexTablesError
from indextables.runtime.handles import native_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# errors that a retry does not fix
_LASTING = ("FILE_MISSING", "SPLIT_CORRUPT", "STORAGE_BAD_PATH")


def run_prewarm_task(
    payload: Mapping[str, Any], note: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Load the splits; return a failure as a result. `note` is called after every split."""
    store = native_store(payload["url"], payload["store_options"])

    def load(split: Mapping[str, Any]) -> dict[str, Any]:
        footer = split["footer"]
        try:
            opened = Split(store, split["path"], tuple(footer) if footer else None)
            opened.prewarm(payload["segments"], payload["fields"])
        except IndexTablesError as failure:
            lasting = failure.code in _LASTING
            return {"path": split["path"], "error": failure.message, "lasting": lasting}
        finally:
            note()
        return {"path": split["path"]}

    with ThreadPoolExecutor(payload["parallelism"]) as pool:
        results = list(pool.map(load, payload["splits"]))
    sync_cache()
    return {"host": socket.gethostname(), "splits": results}
