"""Where the engine reads and writes files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables import _native

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Traffic:
    """What was asked of object stores; local disk is not counted."""

    requests: int
    bytes: int


def open_store(url: str, options: Mapping[str, Any] | str = "") -> _native.Store:
    """A store by URL and the options of the object store; nothing is connected yet."""
    text = options if isinstance(options, str) else json.dumps(dict(options))
    return _native.Store(url, text)


def traffic(store: _native.Store | None = None) -> Traffic:
    """Requests made through one store, or by the whole process."""
    return Traffic(*(store.counters() if store is not None else _native.storage_totals()))
