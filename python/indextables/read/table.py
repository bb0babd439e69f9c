"""An open table at the version that was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indextables.log.protocol import is_companion, is_foreign
from indextables.plan.scan import width_of
from indextables.read.columns import columns_of
from indextables.read.spec import Source, sources_of
from indextables.runtime.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from indextables.config.settings import Settings
    from indextables.engine.source import SourceSpec
    from indextables.errors import IndexTablesError
    from indextables.log import Log, Snapshot
    from indextables.plan.columns import Columns
    from indextables.runtime.context import Context
    from indextables.storage import Store

Row = dict[str, Any]


@dataclass(frozen=True)
class Companion:
    """What a read of a companion needs from its source.

    `files` are the splits and the pending files that together are the source at the version that
    is read, with the columns `hidden` and `pending`; without them the splits are read as the log
    has them. `fields` say how pending files are indexed. Above `max_pending` bytes of them, a query
    that needs an index fails with what `behind` makes of their number and their bytes.
    """

    source: SourceSpec
    files: pa.Table | None = None
    fields: tuple[Mapping[str, Any], ...] = ()
    summary: str = ""
    metrics: Mapping[str, int] = field(default_factory=dict)
    max_pending: int = 1 << 30
    behind: Callable[[int, int], IndexTablesError] | None = None
    # identifies the source's version, so that all calls of a query see the same; "": as indexed
    mark: str = ""
    # partition columns that are UTC here and depend on the session's time zone in Spark
    zoned: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenTable:
    """The log, the snapshot that was read, and the effective settings of the table."""

    log: Log
    snapshot: Snapshot
    settings: Settings
    companion: Companion | None = None

    @property
    def store(self) -> Store:
        """The location of the table."""
        return self.log.store

    @property
    def path(self) -> str:
        """The location of the table, as results show it."""
        return self.log.store.url

    @lazy
    def columns(self) -> Columns:
        """The capabilities of its columns."""
        return columns_of(self.store, self.snapshot)

    @lazy
    def sources(self) -> list[Source]:
        """All live splits, for a query that is the same in each of them."""
        files = self.snapshot.files()
        return sources_of(files, [0] * files.num_rows)

    @lazy
    def row_width(self) -> int:
        """Bytes of the values of a row as Spark estimates them."""
        return width_of(self.columns.schema.to_arrow_schema())

    def now_ms(self) -> int:
        """The current time, from the clock of commits."""
        return self.log.clock.now_ms()


def open_table(path: str, context: Context) -> OpenTable:
    """The newest version of the table at a path; TABLE_NOT_FOUND if there is none."""
    log = context.log(path)
    snapshot = log.snapshot()
    return OpenTable(log, snapshot, context.settings(snapshot.metadata.configuration))


def open_for_reading(
    log: Log, snapshot: Snapshot, settings: Settings, *, past: bool = False, mark: str = ""
) -> OpenTable:
    """A table as queries see it; a companion with the version of its source.

    `past` says that an older version of the table was requested; `mark` identifies the version of
    the source that the query saw first.
    """
    metadata = snapshot.metadata
    if not is_companion(metadata) or is_foreign(snapshot.protocol, metadata):
        return OpenTable(log, snapshot, settings)
    # companions are rare, and what they need takes long to import
    from indextables.read.companion import companion_of

    seen, companion = companion_of(log, snapshot, settings, past=past, mark=mark)
    return OpenTable(log, seen, settings, companion)
