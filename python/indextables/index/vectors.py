"""Read the deleted rows of splits from their index files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import StorageError
from indextables.index.deletion_vectors import decode_bitmap

if TYPE_CHECKING:
    from pyroaring import BitMap

    from indextables.log.actions import DeletionVector
    from indextables.storage import Store

_FRAME = 8  # size and checksum around the data


def load_deletions(store: Store, vector: DeletionVector) -> BitMap:
    """Load and verify the deleted rows of a deletion vector."""
    start, end = vector.offset, vector.offset + vector.length
    try:
        # the length of the 32-bit form excludes the frame, that of the 64-bit form includes it
        data = store.get_range(vector.file, start, end + _FRAME)
    except StorageError:
        found = store.head(vector.file)
        if found is None or found.size >= end + _FRAME or found.size <= start:
            raise  # the range is valid: the store failed
        data = store.get_range(vector.file, start, found.size)
    return decode_bitmap(data, 0, vector.length, vector.cardinality, vector.file)
