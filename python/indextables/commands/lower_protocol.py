"""Lower the protocol for other readers once no split has deleted rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.log import Operation, Protocol, Transaction
from indextables.log.protocol import CURRENT_VERSION, DELETION_VECTORS, OUR_FEATURES

if TYPE_CHECKING:
    from indextables.log import Snapshot
    from indextables.log.actions import Action
    from indextables.read.table import OpenTable


def lower_protocol(table: OpenTable) -> bool:
    """Commit the lower protocol if the latest version allows it; return whether it did."""
    newest = table.log.snapshot()
    if _lowered(newest) is None:
        return False

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        # another writer may have deleted rows in the meantime: then the protocol stays
        lowered = _lowered(now)
        return () if lowered is None else (lowered,)

    table.log.commit(
        Transaction(
            Operation.CHANGE_METADATA,
            newest.version,
            rebuild=rebuild,
            parameters={"dropFeature": DELETION_VECTORS},
            on_companion=True,
        )
    )
    # write a checkpoint: readers that start from the previous one would see the higher protocol
    table.log.checkpoint()
    return True


def _lowered(snapshot: Snapshot) -> Protocol | None:
    held = snapshot.protocol
    if DELETION_VECTORS not in held.reader_features | held.writer_features:
        return None
    vectors = snapshot.files()["deletionVector"]
    if vectors.null_count < len(vectors):
        return None
    readers = held.reader_features - {DELETION_VECTORS}
    writers = held.writer_features - {DELETION_VECTORS}
    lowered = replace(held, reader_features=readers, writer_features=writers)
    if (readers | writers) & OUR_FEATURES:
        return lowered
    return replace(lowered, min_reader_version=CURRENT_VERSION, min_writer_version=CURRENT_VERSION)
