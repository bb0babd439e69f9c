"""Load splits into the caches of one host."""

from __future__ import annotations

import socket
from collections import deque
from typing import TYPE_CHECKING, Any

from indextables.engine.cache import sync_cache
from indextables.engine.source import SourceSpec, open_source
from indextables.engine.split import Split
from indextables.errors import IndexTablesError
from indextables.model.types import parse_schema
from indextables.runtime.handles import native_store
from indextables.runtime.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def run_prewarm_task(
    payload: Mapping[str, Any], note: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Load the splits; return a failure as a result. `note` is called after every split."""
    store = native_store(payload["url"], payload["store_options"])
    source, wanted = payload["source"], None
    rows = None if source is None else open_source(SourceSpec.from_json(source["spec"]))
    if source is not None:
        wanted = parse_schema(source["schema"]).to_arrow_schema()

    def load(split: Mapping[str, Any]) -> dict[str, Any]:
        footer = tuple(split["footer"]) if split["footer"] else None
        try:
            opened = Split(store, split["path"], footer, schema=wanted, source=rows)
            if payload["segments"]:
                opened.prewarm(payload["segments"], payload["fields"])
            if wanted is not None:
                # reading values puts them into the caches
                deque(opened.search(None, wanted), maxlen=0)
        except IndexTablesError as failure:
            lasting = failure.is_lasting
            return {"path": split["path"], "error": failure.message, "lasting": lasting}
        finally:
            note()
        return {"path": split["path"]}

    results = side_by_side(load, payload["splits"], payload["parallelism"])
    sync_cache()
    return {"host": socket.gethostname(), "splits": results}
