"""The commit protocol: put-if-absent of the next version, check and retry on conflict.

    newest snapshot ──> check that what was read still holds ──> put the next version if absent
          ^                                                              │           │
          │                                          exists, or no answer│           │written
          └─ back off <── another writer's <─ read it back <─────────────┘           v
                                                    └── carries our id ───────────> done

A lost answer is resolved by reading the version back and comparing the commit's id, never by
deleting. As long as the version is free, the same bytes are put there again: whichever of the two
arrives is ours. Only a version that holds another writer's commit makes us move on to the next.

Once a version was sent, every failure is COMMIT_UNKNOWN until another writer's commit is found at
that version: the request may still arrive, so nothing that it references may be deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from indextables.config import log as keys
from indextables.config.settings import Settings
from indextables.errors import ConflictError, IndexTablesError, StorageError, error
from indextables.log import codec, compression, conflicts, names
from indextables.log.actions import Metadata
from indextables.log.clock import Clock, backoff_seconds
from indextables.log.composing import compose
from indextables.log.reading import Reader
from indextables.log.replay import Change, Commit, replay
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Committed, Transaction
from indextables.runtime.counts import count


@dataclass
class _Sent:
    """The version a commit was sent to, until another commit is known to be there."""

    version: int | None = None
    cause: IndexTablesError | None = None


class Committer:
    """Commits to one table. `at` returns the snapshot of a version that was read before."""

    def __init__(
        self, reader: Reader, settings: Settings, clock: Clock, at: Callable[[int], Snapshot]
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._at = at
        self._settings = settings

    def create(self, mine: Transaction) -> Committed:
        """Commit version 0; fail with TABLE_EXISTS if another writer was first."""
        return self._resolved(mine, partial(self._create, mine))

    def commit(self, mine: Transaction, newest: Snapshot) -> Committed:
        """Commit after the version that is newest when the store accepts the commit."""
        return self._resolved(mine, partial(self._commit, mine, newest))

    def _resolved(self, mine: Transaction, run: Callable[[_Sent], Committed]) -> Committed:
        """Run a commit; report a failure with unknown outcome as such."""
        sent = _Sent()
        try:
            done = run(sent)
        except IndexTablesError as failure:
            if sent.version is None:
                if isinstance(failure, ConflictError):
                    count("commitConflicts")
                raise
            count("commitsUnknown")
            detail = f"the store did not say whether version {sent.version} was written"
            raise self._unknown(mine, detail) from sent.cause or failure
        count("commits", int(not done.skipped))
        return done

    def _unknown(self, mine: Transaction, detail: str) -> IndexTablesError:
        path, operation = self._reader.store.url, str(mine.operation)
        return error("COMMIT_UNKNOWN", path=path, operation=operation, detail=detail)

    def _create(self, mine: Transaction, sent: _Sent) -> Committed:
        path = self._reader.store.url
        if self._reader.listing().latest is not None:
            raise error("TABLE_EXISTS", path=path)
        commit = compose(mine, None, self._clock.now_ms())
        settings = self._in_force(next(a for a in commit.actions if isinstance(a, Metadata)))
        data = _encode(commit, settings)
        attempts = settings.get(keys.RETRY_MAX_ATTEMPTS)
        for attempt in range(attempts):
            if self._put(commit, data, sent):
                change = replay(Change(), [commit])
                return Committed(0, self._reader.snapshot_of(commit, change))
            if sent.version is None:
                raise error("TABLE_EXISTS", path=path)
            self._pause(attempt, settings)
        raise error("COMMIT_CONTENTION", path=path, attempts=attempts)

    def _commit(self, mine: Transaction, newest: Snapshot, sent: _Sent) -> Committed:
        earlier = self._earlier_try(mine, newest)
        if earlier is not None:
            return Committed(earlier, newest)
        if _is_replayed(mine, newest):
            return Committed(newest.version, newest, skipped=True)
        schema_changed = self._schema_changed(mine, newest)
        settings = self._in_force(newest.metadata)
        commit = self._composed(mine, newest, schema_changed=schema_changed)
        data = _encode(commit, settings)
        attempts = settings.get(keys.RETRY_MAX_ATTEMPTS)
        for attempt in range(attempts):
            if self._put(commit, data, sent):
                return Committed(commit.version, self._reader.advance(newest, [commit]))
            self._pause(attempt, settings)
            winners = self._winners(newest)
            if not winners:
                continue  # the version is still free: put the same commit there again
            newest = self._reader.advance(newest, winners)
            own = next((w for w in winners if w.info and w.info.id == mine.id), None)
            if own is not None:
                return Committed(own.version, newest)
            sent.version = None
            count("commitRetries")
            schema_changed = schema_changed or _change_metadata(winners)
            if _is_replayed(mine, newest):
                return Committed(newest.version, newest, skipped=True)
            commit = self._composed(mine, newest, schema_changed=schema_changed)
            data = _encode(commit, settings)
        raise error("COMMIT_CONTENTION", path=newest.path, attempts=attempts)

    def _composed(self, mine: Transaction, newest: Snapshot, *, schema_changed: bool) -> Commit:
        commit = compose(mine, newest, self._clock.now_ms())
        conflicts.check_removes(mine, newest, commit)
        if schema_changed:
            made_for = self._at(mine.read_version).metadata
            conflicts.check_fits(mine, made_for, newest, commit)
        return commit

    def _earlier_try(self, mine: Transaction, newest: Snapshot) -> int | None:
        """The version that an earlier attempt of the same transaction wrote, if any."""
        if mine.tried_after is None:
            return None
        try:
            since = self._reader.commits(mine.tried_after + 1, newest.version)
        except StorageError as cause:
            detail = f"the commits after version {mine.tried_after} cannot be read"
            raise self._unknown(mine, detail) from cause
        own = (commit.version for commit in since if commit.info and commit.info.id == mine.id)
        return next(own, None)

    def _schema_changed(self, mine: Transaction, newest: Snapshot) -> bool:
        """Whether metadata was committed since reading; true if it cannot be known."""
        if not 0 <= mine.read_version < newest.version:
            return False
        try:
            return _change_metadata(self._reader.commits(mine.read_version + 1, newest.version))
        except StorageError as cause:
            if cause.code != "FILE_MISSING":
                raise
            return True  # the commits in between were cleaned up

    def _winners(self, newest: Snapshot) -> list[Commit]:
        """The commits after a snapshot, each requested by name because a listing may be stale."""
        found: list[Commit] = []
        while (commit := self._reader.commit(newest.version + 1 + len(found))) is not None:
            found.append(commit)
        return found

    def _in_force(self, metadata: Metadata) -> Settings:
        return self._settings.over(metadata.configuration)

    def _put(self, commit: Commit, data: bytes, sent: _Sent) -> bool:
        """Try to write a version; return whether it is known to be there.

        The id in the version decides whose it is. `sent` stays open while that is unknown.
        """
        assert commit.info is not None
        was_open = sent.version is not None
        sent.version = commit.version
        try:
            if self._reader.store.put(names.version_file(commit.version), data, if_absent=True):
                return True
        except StorageError as cause:
            if cause.context.get("refused"):
                if not was_open:
                    sent.version = None
                raise
            sent.cause = cause
        try:
            there = self._reader.commit(commit.version)
        except StorageError as cause:
            sent.cause = sent.cause or cause
            return False
        if there is None:
            return False
        if there.info is not None and there.info.id == commit.info.id:
            return True
        sent.version = None
        return False

    def _pause(self, attempt: int, settings: Settings) -> None:
        base = settings.get(keys.RETRY_BASE_DELAY_MS)
        most = settings.get(keys.RETRY_MAX_DELAY_MS)
        self._clock.sleep(backoff_seconds(attempt, base, most, self._clock.jitter()))


def _encode(commit: Commit, settings: Settings) -> bytes:
    info = commit.info
    assert info is not None
    text = codec.encode_version(info, [a for a in commit.actions if a is not info])
    return compression.deflate(text) if settings.get(keys.COMPRESSION_ENABLED) else text


def _change_metadata(commits: Sequence[Commit]) -> bool:
    return any(isinstance(action, Metadata) for c in commits for action in c.facts)


def _is_replayed(mine: Transaction, newest: Snapshot) -> bool:
    """Whether a batch of a streaming query is already in the table."""
    return mine.txn is not None and newest.txns.get(mine.txn.app_id, -1) >= mine.txn.version
