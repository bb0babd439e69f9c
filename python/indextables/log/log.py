"""The door to a table's log: read it at any version, commit to it, keep it in shape."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping

from indextables.config import log as keys
from indextables.config.settings import Settings
from indextables.errors import TableNotFoundError, error
from indextables.log import protocol
from indextables.log.actions import Metadata
from indextables.log.clock import Clock
from indextables.log.committing import Committer
from indextables.log.manifests import ManifestCache
from indextables.log.reading import Reader
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Committed, Operation, Transaction
from indextables.model.types import Struct, render_schema
from indextables.storage import Store


class Log:
    """One table's log. Safe between threads; several may exist for one table."""

    def __init__(self, store: Store, settings: Settings, clock: Clock | None = None) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock or Clock()
        self._cached = settings.get(keys.CACHE_ENABLED)
        self.reader = Reader(store, settings, ManifestCache() if self._cached else None)
        self._committer = Committer(self.reader, settings, self.clock, self.snapshot)
        self._held: Snapshot | None = None
        self._looked_at = 0.0
        self._lock = threading.Lock()

    def exists(self) -> bool:
        """Whether there is a table."""
        try:
            self.snapshot()
        except TableNotFoundError:
            return False
        return True

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The table at a version, by default the newest one there is."""
        if version is not None:
            held = self._held
            return (
                held if held is not None and held.version == version else self.reader.load(version)
            )
        with self._lock:
            if self._held is None or not self._cached:
                found = self.reader.load()
            elif self._is_fresh():
                return self._held
            else:
                found = self.reader.refresh(self._held)
            return self._hold(found)

    def create(
        self,
        schema: Struct,
        partition_columns: tuple[str, ...] = (),
        configuration: Mapping[str, str] | None = None,
        features: frozenset[str] = frozenset(),
    ) -> Committed:
        """Make the table: version 0 holds protocol and metadata."""
        metadata = Metadata(
            id=str(uuid.uuid4()),
            schema_string=render_schema(schema),
            partition_columns=partition_columns,
            configuration=dict(configuration or {}),
            created_time=self.clock.now_ms(),
        )
        needs = protocol.raised(protocol.NEW_TABLE, features) if features else protocol.NEW_TABLE
        for column in partition_columns:
            if schema.get(column) is None:
                available = ", ".join(schema.names)
                raise error("PARTITION_COLUMN_UNKNOWN", column=column, available=available)
        done = self._committer.create(Transaction(Operation.CREATE, -1, (needs, metadata)))
        return self._held_by(done)

    def commit(self, transaction: Transaction) -> Committed:
        """Make a change visible, whole or not at all.

        ConflictError: another commit stands in the way, read again and redo. CommitUnknownError:
        the store did not answer; the change may or may not be there.
        """
        newest = self.snapshot()
        return self._held_by(self._committer.commit(transaction, newest))

    def _held_by(self, done: Committed) -> Committed:
        with self._lock:
            self._hold(done.snapshot)
        return done

    def _hold(self, snapshot: Snapshot) -> Snapshot:
        if self._held is None or snapshot.version >= self._held.version:
            self._held = snapshot
            self._looked_at = time.monotonic()
        return self._held

    def _is_fresh(self) -> bool:
        seconds = self.settings.get(keys.CACHE_EXPIRATION_SECONDS)
        return seconds is not None and time.monotonic() - self._looked_at < seconds

    def invalidate(self) -> None:
        """Forget what was read."""
        with self._lock:
            self._held = None


def open_log(store: Store, settings: Settings | None = None, clock: Clock | None = None) -> Log:
    """The log of the table in a store; nothing is read yet."""
    return Log(store, settings or Settings(), clock)
