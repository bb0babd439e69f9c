"""Which tables this version may read and write, and which protocol a change needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from indextables.errors import error
from indextables.log.actions import Metadata, Protocol
from indextables.log.state import StateManifest

# features that a table needs once it uses one of our additions
VERSION_WITH_FEATURES = 5
CURRENT_VERSION = 4
COMPANION_ENABLED = "indextables.companion.enabled"
DELETION_VECTORS = "deletionVectors"
PRIMARY_KEY = "primaryKey"
LEAN_SPLITS = "leanSplits"
COMPANION = "companion"
CHECK_CONSTRAINTS = "checkConstraints"
OUR_FEATURES = frozenset({DELETION_VECTORS, PRIMARY_KEY, LEAN_SPLITS, COMPANION})
# features that only writers must support
_OF_WRITERS = frozenset({CHECK_CONSTRAINTS})
_BASE_FEATURES = frozenset({"avroState", "schemaDeduplication"})
READER_FEATURES = (
    _BASE_FEATURES
    | OUR_FEATURES
    | {"skippedFiles", "extendedMetadata", "footerOffsets", "multiPartCheckpoint"}
)
WRITER_FEATURES = READER_FEATURES | _OF_WRITERS | {"checkpoint", "optimizeWrite"}
# a log without a protocol action has the first protocol version
OLDEST = Protocol(1, 1)
NEW_TABLE = Protocol(CURRENT_VERSION, CURRENT_VERSION, _BASE_FEATURES, _BASE_FEATURES)


def of_state(state: StateManifest, found: Protocol | None) -> Protocol:
    """The protocol of a state, given the newest one in its log: a state stores only a version."""
    version = state.protocol_version
    if found is None or version < 1:
        return Protocol(version, version)
    return replace(
        found,
        min_reader_version=max(version, found.min_reader_version),
        min_writer_version=max(version, found.min_writer_version),
    )


def check_readable(protocol: Protocol, path: str) -> None:
    """Refuse a table that needs a newer reader, naming what it needs."""
    _check(path, "reader", protocol.min_reader_version, protocol.reader_features, READER_FEATURES)


def check_writable(protocol: Protocol, path: str) -> None:
    """Refuse a table that needs a newer writer, naming what it needs."""
    check_readable(protocol, path)
    _check(path, "writer", protocol.min_writer_version, protocol.writer_features, WRITER_FEATURES)


def check_maintainable(protocol: Protocol, metadata: Metadata, path: str) -> None:
    """Refuse to maintain a table that needs a newer writer, or a companion of other writers."""
    check_writable(protocol, path)
    if is_foreign(protocol, metadata):
        raise error("COMPANION_READ_ONLY", path=path)


def check_changeable(protocol: Protocol, metadata: Metadata, path: str) -> None:
    """Refuse to change a table that needs a newer writer, or that follows another table."""
    check_writable(protocol, path)
    if is_companion(metadata):
        raise error("COMPANION_READ_ONLY", path=path)


def is_companion(metadata: Metadata) -> bool:
    """Whether a table only indexes the rows of another one."""
    return metadata.configuration.get(COMPANION_ENABLED, "").lower() == "true"


def is_foreign(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether a companion was built by another implementation, which does not record its rows."""
    return is_companion(metadata) and COMPANION not in protocol.reader_features


def _check(
    path: str, role: str, version: int, features: frozenset[str], known: frozenset[str]
) -> None:
    unknown = sorted(features - known)
    if version > VERSION_WITH_FEATURES or version < 1:
        needs = f"{role} version {version}, this is version {VERSION_WITH_FEATURES}"
    elif unknown:
        needs = f"{role} features unknown here: {', '.join(unknown)}"
    else:
        return
    raise error("PROTOCOL_UNSUPPORTED", path=path, needs=needs)


def raised(protocol: Protocol, features: Iterable[str]) -> Protocol:
    """The protocol with more features; versions never decrease."""
    wanted = frozenset(features)
    of_readers = wanted - _OF_WRITERS
    if of_readers <= protocol.reader_features and wanted <= protocol.writer_features:
        return protocol
    base = upgraded(protocol)
    least = VERSION_WITH_FEATURES if of_readers else CURRENT_VERSION
    return replace(
        base,
        min_reader_version=max(least, base.min_reader_version),
        min_writer_version=max(VERSION_WITH_FEATURES, base.min_writer_version),
        reader_features=base.reader_features | of_readers,
        writer_features=base.writer_features | wanted,
    )


def upgraded(protocol: Protocol) -> Protocol:
    """The protocol an Avro state needs."""
    if protocol.min_reader_version >= CURRENT_VERSION:
        return protocol
    return replace(
        protocol,
        min_reader_version=CURRENT_VERSION,
        min_writer_version=max(CURRENT_VERSION, protocol.min_writer_version),
        reader_features=protocol.reader_features | _BASE_FEATURES,
        writer_features=protocol.writer_features | _BASE_FEATURES,
    )
