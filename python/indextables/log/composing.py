"""From a transaction and the newest snapshot to the actions of the next version. Pure."""

from __future__ import annotations

from dataclasses import replace

from indextables import __version__
from indextables.log import protocol, registry
from indextables.log.actions import (
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
)
from indextables.log.replay import ENGINE, Commit
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Operation, Transaction

_DEDUPLICATED_SINCE = 3  # protocol version that knows the schema registry
# operations that read no row of the table they change
_BLIND = frozenset({Operation.CREATE, Operation.APPEND, Operation.CHANGE_METADATA})
# removals first: a path that is removed and added again was replaced
_ORDER: tuple[type[Action], ...] = (Protocol, Metadata, RemoveFile, AddFile)


def compose(mine: Transaction, newest: Snapshot | None, now_ms: int) -> Commit:
    """The commit that follows a snapshot, or the first one."""
    if newest is None:
        actions, version, floor = mine.actions, 0, 0
    else:
        if mine.on_companion:
            protocol.check_writable(newest.protocol, newest.path)
        else:
            protocol.check_changeable(newest.protocol, newest.metadata, newest.path)
        actions = mine.actions if mine.rebuild is None else mine.rebuild(newest)
        actions = _with_protocol(mine, newest, _with_registry(newest, actions))
        version, floor = newest.version + 1, newest.timestamp_ms + 1
    if mine.txn is not None:
        actions = (replace(mine.txn, last_updated=now_ms), *actions)
    timestamp = max(now_ms, floor)
    info = CommitInfo(
        id=mine.id,
        timestamp=timestamp,
        operation=str(mine.operation),
        parameters=mine.parameters,
        metrics=mine.metrics,
        engine_info=f"{ENGINE}/{__version__}",
        read_version=mine.read_version if mine.read_version >= 0 else None,
        is_blind_append=_is_blind(mine, newest, actions),
        user_metadata=mine.user_metadata,
        extra=mine.notes(),
    )
    ordered = sorted((_dated(action, timestamp) for action in actions), key=_rank)
    return Commit(version, (info, *ordered))


def _is_blind(mine: Transaction, newest: Snapshot | None, actions: tuple[Action, ...]) -> bool:
    """Whether a commit depends on no row of the table, however many it found to replace."""
    independent = newest is None or mine.operation in _BLIND
    return independent and not any(isinstance(a, RemoveFile) for a in actions)


def _dated(action: Action, timestamp: int) -> Action:
    """A removal with its timestamp."""
    if isinstance(action, RemoveFile) and action.deletion_timestamp is None:
        return replace(action, deletion_timestamp=timestamp)
    return action


def _rank(action: Action) -> int:
    return _ORDER.index(type(action)) if type(action) in _ORDER else len(_ORDER)


def _with_registry(newest: Snapshot, actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Document mappings moved from the files into the registry, once each."""
    metadata = next((a for a in actions if isinstance(a, Metadata)), newest.metadata)
    if newest.protocol.min_reader_version < _DEDUPLICATED_SINCE:
        return actions
    configured = registry.from_configuration(metadata.configuration)
    known = {**newest.registry, **configured}
    hashes: dict[str, str] = {}
    refs: set[str | None] = set()
    for action in actions:
        if isinstance(action, AddFile) and action.doc_mapping_json is not None:
            text = action.doc_mapping_json
            hashes.setdefault(text, registry.schema_hash(text))
        elif isinstance(action, AddFile):
            refs.add(action.doc_mapping_ref)
    # a state of another writer may keep mappings that its metadata does not have
    known |= {hashes[text]: text for text in hashes if hashes[text] not in known}
    fresh = {ref for ref in (*hashes.values(), *refs) if ref in known and ref not in configured}
    shortened = tuple(
        replace(a, doc_mapping_json=None, doc_mapping_ref=hashes[a.doc_mapping_json])
        if isinstance(a, AddFile) and a.doc_mapping_json is not None
        else a
        for a in actions
    )
    if metadata is newest.metadata and not fresh:
        return shortened
    # metadata replaces what was there: it must carry every mapping that a live file may name
    full = replace(metadata, configuration=registry.configured(metadata.configuration, known))
    return (full, *(a for a in shortened if not isinstance(a, Metadata)))


def _with_protocol(
    mine: Transaction, newest: Snapshot, actions: tuple[Action, ...]
) -> tuple[Action, ...]:
    features = set(mine.features)
    if any(isinstance(a, AddFile) and a.deletion_vector is not None for a in actions):
        features.add(protocol.DELETION_VECTORS)
    given = next((a for a in actions if isinstance(a, Protocol)), newest.protocol)
    needed = protocol.raised(given, features) if features else given
    if needed == newest.protocol:
        return actions
    # never write a table that this version could not read or write afterwards
    protocol.check_writable(needed, newest.path)
    return (needed, *(a for a in actions if not isinstance(a, Protocol)))
