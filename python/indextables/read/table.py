"""A table an operation works on, at the version it read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from indextables.read.columns import columns_of

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.log import Log, Snapshot
    from indextables.plan.columns import Columns
    from indextables.runtime.context import Context
    from indextables.storage import Store

Row = dict[str, Any]


@dataclass(frozen=True)
class OpenTable:
    """The log, the snapshot that was read, and the settings in force for the table."""

    log: Log
    snapshot: Snapshot
    settings: Settings

    @property
    def store(self) -> Store:
        """Where the table lies."""
        return self.log.store

    @property
    def path(self) -> str:
        """The table's address, as answers show it."""
        return self.log.store.url

    @cached_property
    def columns(self) -> Columns:
        """What its columns can do."""
        return columns_of(self.store.url, self.snapshot)

    def now_ms(self) -> int:
        """The time, from the clock commits use."""
        return self.log.clock.now_ms()


def open_table(path: str, context: Context) -> OpenTable:
    """The table at a path, newest version; TABLE_NOT_FOUND when there is none."""
    log = context.log(path)
    snapshot = log.snapshot()
    return OpenTable(log, snapshot, context.settings(snapshot.metadata.configuration))
