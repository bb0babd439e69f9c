"""The entry point to a table's log: read it at any version, commit to it, maintain it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence

from indextables.config import log as keys
from indextables.config.settings import Settings
from indextables.errors import IndexTablesError, TableNotFoundError, error
from indextables.log import compaction, protocol
from indextables.log.actions import Action, Metadata
from indextables.log.checkpoints import Checkpoint, CheckpointWriter
from indextables.log.cleaning import Cleaned, clean, is_due
from indextables.log.clock import Clock
from indextables.log.committing import Committer
from indextables.log.history import HistoryEntry, history, version_at
from indextables.log.manifests import manifest_cache
from indextables.log.newest import Newest
from indextables.log.reading import Reader
from indextables.log.retention import Policy
from indextables.log.sharing import CommitQueue, Outcome, commit_together
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Committed, Operation, Transaction
from indextables.model.types import Struct, render_schema
from indextables.storage import Store

_log = logging.getLogger("indextables.log")


class Log:
    """The log of one table. Thread-safe; several may exist for one table."""

    def __init__(self, store: Store, settings: Settings, clock: Clock | None = None) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock or Clock()
        cached = settings.get(keys.CACHE_ENABLED)
        self.reader = Reader(store, settings, manifest_cache() if cached else None)
        self._committer = Committer(self.reader, settings, self.clock, self.snapshot)
        self._newest = Newest(self.reader, settings, self.clock)
        self._queue = CommitQueue(store.url, self.commit_together)

    def exists(self) -> bool:
        """Whether there is a table."""
        try:
            self.snapshot()
        except TableNotFoundError:
            return False
        return True

    def snapshot(self, version: int | None = None, timestamp_ms: int | None = None) -> Snapshot:
        """The table at a version or a timestamp, by default the newest version."""
        if timestamp_ms is not None:
            if version is not None:
                raise error("VERSION_AND_TIMESTAMP", path=self.store.url)
            version = version_at(self.reader, timestamp_ms)
        return self._newest.get() if version is None else self._newest.at(version)

    def create(
        self,
        schema: Struct,
        partition_columns: tuple[str, ...] = (),
        configuration: Mapping[str, str] | None = None,
        features: frozenset[str] = frozenset(),
    ) -> Committed:
        """Create the table: version 0 holds protocol and metadata."""
        for column in partition_columns:
            if schema.get(column) is None:
                available = ", ".join(schema.names)
                raise error("PARTITION_COLUMN_UNKNOWN", column=column, available=available)
        metadata = Metadata(
            id=str(uuid.uuid4()),
            schema_string=render_schema(schema),
            partition_columns=partition_columns,
            configuration=dict(configuration or {}),
            created_time=self.clock.now_ms(),
        )
        needs = protocol.raised(protocol.NEW_TABLE, features) if features else protocol.NEW_TABLE
        done = self._committer.create(Transaction(Operation.CREATE, -1, (needs, metadata)))
        return self._held_by(done)

    def commit(self, transaction: Transaction) -> Committed:
        """Commit a change atomically.

        ConflictError: another commit conflicts; read the table again and retry. CommitUnknownError:
        the store did not answer, so the change may or may not be committed. Appends that may share
        a version are committed together with those that other threads commit meanwhile.
        """
        return self._queue.commit(transaction) if transaction.shares else self._commit(transaction)

    def commit_together(self, appends: Sequence[Transaction]) -> list[Outcome]:
        """Commit appends in one version if that succeeds, else each on its own."""
        return commit_together(self._commit, appends)

    def _commit(self, transaction: Transaction) -> Committed:
        newest = self.snapshot()
        done = self._held_by(self._committer.commit(transaction, newest))
        if not done.skipped:
            self._maintain(transaction, done.snapshot)
        return done

    def _maintain(self, transaction: Transaction, snapshot: Snapshot) -> None:
        """Checkpoint and clean if due; a failure does not affect the commit."""
        if protocol.is_foreign(snapshot.protocol, snapshot.metadata):
            return
        settings = self.settings_of(snapshot)
        reason = _reason_to_compact(transaction, settings)
        if reason is None and not _is_due(snapshot, settings):
            return
        try:
            self.checkpoint(compact=reason, snapshot=snapshot)
            if transaction.operation == Operation.RESTORE:
                return  # the version that was restored shows that no PURGE ran meanwhile
            policy = Policy.of(settings)
            if is_due(self.reader, policy, self.clock.now_ms()):
                self.clean(policy)
        except IndexTablesError as cause:
            _log.warning("maintenance after version %d failed: %s", snapshot.version, cause)

    def settings_of(self, snapshot: Snapshot) -> Settings:
        """The effective settings: those given when opening, then the properties of the table."""
        return self.settings.over(snapshot.metadata.configuration)

    def checkpoint(
        self, *, compact: str | None = None, keep: bool = False, snapshot: Snapshot | None = None
    ) -> Checkpoint:
        """Write a checkpoint of the newest version; with a reason to compact, a compact one.

        Tables of older protocols are upgraded first. A compacted state gets a new version if its
        own already has a state, because states never change, or is left out with `keep`.
        """
        at = snapshot or self.snapshot()
        protocol.check_maintainable(at.protocol, at.metadata, at.path)
        settings = self.settings_of(at)
        avro = settings.get(keys.STATE_FORMAT) == "avro"
        if avro and protocol.upgraded(at.protocol) != at.protocol:
            at = self._note(at)
        limits = compaction.Limits.of(settings)
        if compact is not None and not keep and self._stands_uncompact(at, limits):
            at = self._note(at)
        done = CheckpointWriter(self.reader, settings, self.clock).write(at, compact=compact)
        self._newest.reload(at.version)
        return done

    def _note(self, at: Snapshot) -> Snapshot:
        """A version only for a checkpoint, with the protocol that its state needs."""

        def rebuild(newest: Snapshot) -> tuple[Action, ...]:
            needed = protocol.upgraded(newest.protocol)
            return () if needed == newest.protocol else (needed,)

        transaction = Transaction(
            Operation.CHECKPOINT, at.version, rebuild=rebuild, on_companion=True
        )
        return self._held_by(self._committer.commit(transaction, at)).snapshot

    def _stands_uncompact(self, at: Snapshot, limits: compaction.Limits) -> bool:
        if self.reader.newest_state(at.version) != at.version:
            return False
        if not self.reader.has_whole_state(at.version):
            return True
        state = self.reader.states.read(at.version)
        step = compaction.entries_per_manifest(state.num_files, bool(at.partition_columns), limits)
        packed = max(1, -(-state.num_files // step))
        return bool(compaction.dead_entries(state)) or len(state.manifests) > packed

    def clean(self, policy: Policy | None = None, *, dry_run: bool = False) -> Cleaned:
        """Delete the log files whose retention has expired."""
        if not dry_run:
            self.check_maintainable()
        policy = policy or Policy.of(self.settings_of(self.snapshot()))
        return clean(self.reader, policy, self.clock.now_ms(), dry_run=dry_run)

    def check_maintainable(self) -> None:
        """Refuse maintenance when the table needs a newer writer or another implementation."""
        newest = self.snapshot()
        protocol.check_maintainable(newest.protocol, newest.metadata, newest.path)

    def check_changeable(self) -> None:
        """Refuse what writes or deletes when the table needs a newer writer."""
        newest = self.snapshot()
        protocol.check_changeable(newest.protocol, newest.metadata, newest.path)

    def history(self, limit: int | None = None) -> Iterator[HistoryEntry]:
        """The versions there are, newest first."""
        return history(self.reader, limit)

    def _held_by(self, done: Committed) -> Committed:
        self._newest.hold(done.snapshot)
        return done

    def invalidate(self) -> None:
        """Drop everything that was cached."""
        self._newest.forget()


def open_log(store: Store, settings: Settings | None = None, clock: Clock | None = None) -> Log:
    """The log of the table in a store; nothing is read yet."""
    return Log(store, settings or Settings(), clock)


def _reason_to_compact(transaction: Transaction, settings: Settings) -> str | None:
    if not settings.get(keys.CHECKPOINT_ENABLED):
        return None
    if transaction.operation == Operation.RESTORE:
        return "paths may have come back, which other readers miss in version files"
    if transaction.operation == Operation.MERGE_SPLITS and settings.get(keys.COMPACT_AFTER_MERGE):
        return "splits were merged"
    return None


def _is_due(snapshot: Snapshot, settings: Settings) -> bool:
    interval = settings.get(keys.CHECKPOINT_INTERVAL)
    if not settings.get(keys.CHECKPOINT_ENABLED) or interval == 0:
        return False
    # a writer that died before its checkpoint leaves it to a later one
    behind = snapshot.version - snapshot.checkpoint_version
    return snapshot.version % interval == 0 or behind > 2 * interval
