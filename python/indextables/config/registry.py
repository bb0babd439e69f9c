"""All keys, collected from the modules that define them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.config import (
    cache,
    companion,
    ignored,
    indexing,
    log,
    maintenance,
    monitoring,
    read,
    rows,
    storage,
    stream,
    write,
)

if TYPE_CHECKING:
    from indextables.config.option import Option

OPTIONS: tuple[Option[Any], ...] = (
    *read.OPTIONS,
    *write.OPTIONS,
    *stream.OPTIONS,
    *indexing.OPTIONS,
    *rows.OPTIONS,
    *maintenance.OPTIONS,
    *log.OPTIONS,
    *cache.OPTIONS,
    *storage.OPTIONS,
    *companion.OPTIONS,
    *monitoring.OPTIONS,
    *ignored.OPTIONS,
)
