"""The object store through which the engine reads and writes files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables import _native
from indextables._native import Cancel

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["Cancel", "Traffic", "open_store", "traffic"]


@dataclass(frozen=True)
class Traffic:
    """Numbers of requests to stores, of requests that were sent twice, and of bytes read."""

    requests: int
    hedged: int
    bytes: int


def open_store(url: str, options: Mapping[str, Any] | str = "") -> _native.Store:
    """A store by URL and the options of the object store; nothing is connected yet."""
    text = options if isinstance(options, str) else json.dumps(dict(options))
    return _native.Store(url, text)


def traffic(store: _native.Store | None = None) -> Traffic:
    """The traffic of one store, or of all object stores in this process."""
    found = store.counters() if store is not None else _native.storage_totals()
    by_kind = dict(found[0])
    return Traffic(sum(by_kind.values()), by_kind["hedge"], found[1])
