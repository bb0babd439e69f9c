"""The protocol and metadata of a state, wherever its writer stored them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from indextables.errors import CorruptError, StorageError, error
from indextables.log import codec, names, protocol
from indextables.log.actions import Action, Metadata, Protocol
from indextables.log.names import Listing
from indextables.log.replay import Commit
from indextables.log.state import StateManifest
from indextables.log.states import StateReader
from indextables.storage import Store

_log = logging.getLogger("indextables.log")


@dataclass(frozen=True)
class Facts:
    """What a state may leave to other log files."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None

    def filled(self, actions: Sequence[Action]) -> Facts:
        """Complete the facts from older actions, the latest first."""
        protocols = [a for a in actions if isinstance(a, Protocol)]
        metadata = [a for a in actions if isinstance(a, Metadata)]
        return Facts(
            self.protocol or (protocols[-1] if protocols else None),
            self.metadata or (metadata[-1] if metadata else None),
        )


class FactReader:
    """Reads the facts of the states of one table and caches the last ones."""

    def __init__(
        self,
        store: Store,
        states: StateReader,
        listing: Callable[[], Listing],
        parallelism: int,
        limit: int,
    ) -> None:
        self._store = store
        self._states = states
        self._listing = listing
        self._parallelism = parallelism
        self._limit = limit
        self._held = ((-1, -1), Facts())

    def read(self, state: StateManifest) -> list[Action]:
        """The protocol and metadata of a state.

        Other writers store the features only in version files, older ones the metadata too.
        """
        found = Facts(
            next((a for a in state.actions if isinstance(a, Protocol)), None),
            codec.decode_metadata(state.metadata, state.file) if state.metadata else None,
        )
        if found.protocol is None or found.metadata is None:
            # this may read all version files, so once per state is enough
            key, held = (state.version, state.created_at), self._held
            found = held[1] if held[0] == key else self._looked_up(state, found)
            self._held = key, found
        if found.metadata is None:
            detail = "it has no metadata, and no version file or older state has any"
            raise error("FILE_CORRUPT", path=state.file, detail=detail)
        return [protocol.of_state(state, found.protocol), found.metadata]

    def _looked_up(self, state: StateManifest, known: Facts) -> Facts:
        """The newest protocol and metadata up to a state, from version files and older states."""
        listing = self._listing()
        older = [v for v in reversed(listing.versions) if v <= state.version]
        for start in range(0, len(older), self._parallelism):
            for actions in self._readable(older[start : start + self._parallelism]):
                known = known.filled(actions)
            if known.protocol is not None and known.metadata is not None:
                return known
        for version in reversed([v for v in listing.states if v < state.version]):
            try:
                return known.filled(self.read(self._states.read(version)))
            except (CorruptError, StorageError) as cause:
                if not cause.is_lasting:
                    raise
                _log.warning("the state of version %d is passed over: %s", version, cause)
        return known

    def _readable(self, versions: Sequence[int]) -> Iterator[Sequence[Action]]:
        """The facts in these version files, without those that are damaged or missing."""
        paths = [names.version_file(version) for version in versions]
        for path, data in zip(paths, self._store.find_all(paths, self._parallelism), strict=True):
            try:
                if data is not None:
                    yield Commit(0, codec.decode_actions(data, path, limit=self._limit)).facts
            except CorruptError as cause:
                _log.warning("`%s` is passed over: %s", path, cause)
