"""Stores and splits kept open between queries, in the planner and in every worker."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING

from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.log.actions import DeletionVector
from indextables.ops.vectors import load_deletions
from indextables.storage import open_store as open_port

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables import _native
    from indextables.config.settings import Settings

Vector = tuple[str, int, int, int]
Key = tuple[str, str, str, Vector | None, str]

_OPEN_SPLITS = 512
_splits: OrderedDict[Key, Split] = OrderedDict()


@lru_cache(maxsize=64)
def native_store(url: str, options: str) -> _native.Store:
    """The engine's handle on a table's store."""
    return open_store(url, options)


def open_split(
    place: tuple[str, str],
    path: str,
    footer: tuple[int, int] | None,
    vector: Vector | None,
    *,
    schema: pa.Schema,
    settings: Settings,
) -> Split:
    """A split ready to be asked, its deleted rows left out; `place` is address and options."""
    key = (*place, path, vector, str(schema))
    found = _splits.get(key)
    if found is None:
        deleted = None if vector is None else _deleted(place[0], vector, settings)
        found = Split(native_store(*place), path, footer, deleted, schema)
        _splits[key] = found
        if len(_splits) > _OPEN_SPLITS:
            _splits.popitem(last=False)
    return found


def _deleted(url: str, vector: Vector, settings: Settings) -> bytes:
    found: bytes = load_deletions(open_port(url, settings), DeletionVector(*vector)).serialize()
    return found
