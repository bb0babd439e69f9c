"""Read the deleted rows of splits from their index files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import StorageError
from indextables.index.deletion_vectors import VERSION, check_version, decode_bitmap

if TYPE_CHECKING:
    from pyroaring import BitMap

    from indextables.log.actions import DeletionVector
    from indextables.storage import Store

_FRAME = 8  # size and checksum around the data


def load_deletions(store: Store, vector: DeletionVector) -> BitMap:
    """Load and verify the deleted rows of a deletion vector."""
    start, end = vector.offset, vector.offset + vector.length
    head = (0, len(VERSION))
    try:
        # the length of the 32-bit form excludes the frame, that of the 64-bit form includes it
        version, data = store.get_ranges(vector.file, [head, (start, end + _FRAME)])
    except StorageError:
        found = store.head(vector.file)
        if found is None or found.size >= end + _FRAME or found.size <= start:
            raise  # the range is valid: the store failed
        version, data = store.get_ranges(vector.file, [head, (start, found.size)])
    check_version(version, vector.file)
    return decode_bitmap(data, 0, vector.length, vector.cardinality, vector.file)
