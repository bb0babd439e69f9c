"""Read a log into a snapshot: the newest complete base, then every version after it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from indextables.config import log as keys
from indextables.config.settings import Settings
from indextables.errors import CorruptError, IndexTablesError, StorageError, error
from indextables.log import codec, names, protocol
from indextables.log.actions import Action
from indextables.log.facts import FactReader
from indextables.log.manifests import ManifestCache, ManifestReader, StateBase
from indextables.log.names import Listing
from indextables.log.replay import Change, Commit, replay
from indextables.log.snapshot import Base, Snapshot
from indextables.log.state import Pointer
from indextables.log.statefile import decode_pointer
from indextables.log.states import StateReader
from indextables.storage import Store

_log = logging.getLogger("indextables.log")


T = TypeVar("T")
# how often a reader retries when a clean-up deletes files between listing and reading
_LOOKS = 3
# version files that are fetched before the first of them is used
_AHEAD = 256


def looking_again(read: Callable[[], T]) -> T:
    """The result of a read, retried when a clean-up deletes a file meanwhile."""
    for _ in range(_LOOKS - 1):
        try:
            return read()
        except StorageError as cause:
            if cause.code != "FILE_MISSING":
                raise
    return read()


class Reader:
    """Reads the log of one table. Caches what never changes: manifests and facts of a state."""

    def __init__(self, store: Store, settings: Settings, cache: ManifestCache | None) -> None:
        self.store = store
        self._parallelism = settings.get(keys.MAX_CONCURRENT_READS)
        self._limit = settings.get(keys.MAX_FILE_BYTES)
        self.states = StateReader(store, self._limit)
        self._facts = FactReader(store, self.states, self.listing, self._parallelism, self._limit)
        self.manifests = ManifestReader(store, settings.get(keys.STATE_READ_PARALLELISM), cache)

    def pointer(self) -> Pointer | None:
        """The content of `_last_checkpoint`, a hint; None if it is missing or damaged."""
        data = self.store.find(names.POINTER)
        if data is None:
            return None
        try:
            pointer = decode_pointer(data)
        except CorruptError as cause:
            _log.warning("`%s` is ignored: %s", names.POINTER, cause.context["detail"])
            return None
        self.states.note(pointer)
        return pointer

    def listing(self, after: int | None = None) -> Listing:
        """The listing of the log, from a version on or whole."""
        if after is None:
            found = self.store.children(names.FOLDER)
        else:
            found = [
                *self.store.children(names.FOLDER, f"{after:020d}", "_"),
                *self.store.children(names.FOLDER, names.state_name(after - 1), "state-w"),
            ]
        listing = names.parse_names(found)
        elsewhere = self.states.elsewhere(after or 0)
        return self._complete(replace(listing, states=(*listing.states, *elsewhere)))

    def _complete(self, listing: Listing) -> Listing:
        """The listing without the newest states that are only folders, left by a dead writer.

        States that version files cover are not checked: reading falls back from them.
        """
        states = sorted(set(listing.states))
        covered = max((*listing.versions[-1:], *listing.checkpoints[-1:]), default=-1)
        while states and states[-1] > covered and not self.states.is_complete(states[-1]):
            states.pop()
        return replace(listing, states=tuple(states))

    def commit(self, version: int) -> Commit | None:
        """One version file, or None when there is none."""
        data = self.store.find(names.version_file(version))
        return None if data is None else self._decoded(version, data)

    def _decoded(self, version: int, data: bytes) -> Commit:
        path = names.version_file(version)
        return Commit(version, codec.decode_actions(data, path, limit=self._limit))

    def commits(self, first: int, last: int) -> list[Commit]:
        """Version files of a range; one that is missing is an error."""
        paths = [names.version_file(version) for version in range(first, last + 1)]
        contents = self.store.find_all(paths, self._parallelism)
        found = []
        for version, path, data in zip(range(first, last + 1), paths, contents, strict=True):
            if data is None:
                raise error("FILE_MISSING", path=path)
            found.append(self._decoded(version, data))
        return found

    def existing(self, versions: Iterable[int]) -> Iterator[Commit]:
        """Those of these version files that exist; many are fetched at a time."""
        wanted = list(versions)
        for start in range(0, len(wanted), _AHEAD):
            few = wanted[start : start + _AHEAD]
            paths = [names.version_file(version) for version in few]
            contents = self.store.find_all(paths, self._parallelism)
            for version, data in zip(few, contents, strict=True):
                if data is not None:
                    yield self._decoded(version, data)

    def load(self, version: int | None = None) -> Snapshot:
        """The table at a version, by default the newest."""
        pointer = self.pointer()
        if pointer is not None and (version is None or version >= pointer.version):
            near = self.listing(pointer.version)
            if near.latest is not None:
                target = near.latest if version is None else version
                snapshot = self._assemble(near, target, strict=False)
                if snapshot is not None:
                    return snapshot
        everything = self.listing()
        latest = everything.latest
        if latest is None:
            raise error("TABLE_NOT_FOUND", path=self.store.url)
        if version is not None and version > latest:
            everything = self._looked_up(everything, latest + 1, version)
        target = latest if version is None else version
        found = self._assemble(everything, target, strict=True)
        assert found is not None
        return found

    def _looked_up(self, listing: Listing, first: int, last: int) -> Listing:
        """A listing completed by later versions that exist: a listing may be stale."""
        versions = list(listing.versions)
        for version in range(first, last + 1):
            if self.store.head(names.version_file(version)) is None:
                break
            versions.append(version)
        return replace(listing, versions=tuple(versions))

    def advance(self, held: Snapshot, commits: Sequence[Commit]) -> Snapshot:
        """A snapshot with more commits applied."""
        change = replay(held.change, commits)
        return self.snapshot_of(commits[-1], change, held.base, held.checkpoint_version)

    def _assemble(self, listing: Listing, target: int, *, strict: bool) -> Snapshot | None:
        """The snapshot at a version from the newest usable base; None to look further."""
        latest = listing.latest
        bases = [b for b in reversed(listing.bases) if b <= target]
        if not bases or latest is None or not 0 <= target <= latest:
            if strict:
                raise self.unavailable(target, listing)
            return None
        failure: IndexTablesError | None = None
        for base in bases:
            # a version that exists only as a state cannot be replayed over
            if any(v not in listing.versions for v in range(base + 1, target + 1)):
                break
            try:
                return self._from_base(listing, base, target)
            except (CorruptError, StorageError) as cause:
                _log.warning("version %d of `%s`: %s", base, self.store.url, cause)
                if self.exists(listing, base):
                    failure = failure or cause
        if not strict:
            return None
        raise failure or self.unavailable(target, listing)

    def exists(self, listing: Listing, base: int) -> bool:
        """Whether a base is more than the folder that a clean-up left of a state."""
        whole = base not in listing.states or base in listing.checkpoints
        return whole or self.states.is_complete(base)

    def _from_base(self, listing: Listing, base: int, target: int) -> Snapshot:
        start, state_base, timestamp = self._start(listing, base)
        commits = self.commits(base + 1, target)
        change = replay(start, commits)
        last = commits[-1] if commits else Commit(target, (), timestamp)
        return self.snapshot_of(last, change, state_base, base)

    def _start(self, listing: Listing, base: int) -> tuple[Change, StateBase | None, int]:
        if base in listing.states:
            try:
                return self._start_from_state(base)
            except (CorruptError, StorageError):
                if base not in listing.checkpoints:
                    raise
        if base in listing.checkpoints:
            commits = [Commit(base, part) for part in self._checkpoint(base)]
            return replay(Change(ours=False), commits), None, 0
        return Change(), None, 0

    def _start_from_state(self, version: int) -> tuple[Change, StateBase, int]:
        state = self.states.read(version)
        kept: list[Action] = [*self._facts.read(state), *state.actions]
        start = replay(Change(), [Commit(version, tuple(kept))])
        # the contents of a state are not commits
        start = replace(start, ours=True)
        base = StateBase(state, self.manifests, partial(self._replayed, version))
        return start, base, state.created_at

    def _replayed(self, version: int, cause: IndexTablesError) -> pa.Table:
        """Return the live splits of a state's version without the state, or raise its error.

        Version files and older states have the same content, as long as they are kept.
        """
        listing = self.listing()
        older = tuple(state for state in listing.states if state < version)
        try:
            found = self._assemble(replace(listing, states=older), version, strict=True)
        except IndexTablesError:
            raise cause from None
        assert found is not None
        _log.warning("version %d of `%s` is replayed: %s", version, self.store.url, cause)
        return found.files()

    def _checkpoint(self, version: int) -> list[Collection[Action]]:
        """The actions of the files of a JSON checkpoint."""
        path = names.checkpoint_file(version)
        data = self.store.get(path)
        head = codec.decode_head(data, path, self._limit)
        if head is None:
            return [codec.decode_actions(data, path, limit=self._limit)]
        parts = self._parts(version, head) if head.parts is None else head.parts
        paths = [f"{names.FOLDER}/{part}" for part in parts]
        actions: list[Collection[Action]] = []
        for part, content in zip(paths, self.store.find_all(paths, self._parallelism), strict=True):
            if content is None:
                raise error("FILE_MISSING", path=part)
            actions.append(codec.decode_actions(content, part, whole=False, limit=self._limit))
        return actions

    def is_whole(self, version: int) -> bool:
        """Whether a version can be read from its state or checkpoint alone."""
        return self.has_whole_state(version) or self._succeeds(self._has_checkpoint, version)

    def has_whole_state(self, version: int) -> bool:
        """Whether a version can be read from its state alone."""
        return self._succeeds(self._has_state, version)

    def _succeeds(self, check: Callable[[int], bool], version: int) -> bool:
        try:
            return check(version)
        except (CorruptError, StorageError) as cause:
            if not cause.is_lasting:
                raise
            _log.warning("version %d of `%s`: %s", version, self.store.url, cause)
            return False

    def _has_state(self, version: int) -> bool:
        state = self.states.read(version)
        self.manifests.read(state.manifests)
        return state.metadata is not None

    def _has_checkpoint(self, version: int) -> bool:
        commits = [Commit(version, part) for part in self._checkpoint(version)]
        return replay(Change(), commits).metadata is not None

    def _parts(self, version: int, head: codec.CheckpointHead) -> list[str]:
        """The parts of a checkpoint whose head does not list them, found by their names."""
        found = names.parts_of(version, head.checkpoint_id, self.store.children(names.FOLDER))
        if len(found) != head.count:
            detail = f"it has {head.count} parts, and {len(found)} files have their names"
            raise error("FILE_CORRUPT", path=names.checkpoint_file(version), detail=detail)
        return found

    def snapshot_of(
        self, last: Commit, change: Change, base: Base | None = None, checkpoint: int = -1
    ) -> Snapshot:
        """The snapshot after a commit, if this version may read such a table."""
        if change.metadata is None:
            path = names.version_file(last.version)
            raise error("FILE_CORRUPT", path=path, detail="no metaData up to this version")
        needs = change.protocol or protocol.OLDEST
        protocol.check_readable(needs, self.store.url)
        timestamp = last.timestamp or self.file_time(last.version)
        return Snapshot(
            self.store.url,
            last.version,
            timestamp,
            needs,
            change.metadata,
            change,
            base,
            checkpoint,
            partial(self.load, last.version),
        )

    def newest_state(self, version: int) -> int | None:
        """The newest state that is not newer than a version."""
        states = names.parse_names(self.store.children(names.FOLDER, "state-v", "state-w")).states
        return max((each for each in states if each <= version), default=None)

    def file_time(self, version: int) -> int:
        """When a version file was written, according to the store."""
        meta = self.store.head(names.version_file(version))
        return 0 if meta is None else meta.modified_ms

    def unavailable(self, version: int, listing: Listing) -> IndexTablesError:
        """The error for a version that cannot be read."""
        whole = tuple(state for state in listing.states if self.states.is_complete(state))
        readable = replace(listing, states=whole).readable
        runs = [f"{run.start} to {run.stop - 1}" for run in readable]
        available = ", ".join(runs) or "none"
        return error(
            "VERSION_NOT_AVAILABLE", version=version, path=self.store.url, available=available
        )
