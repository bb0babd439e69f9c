"""Hash index files: the key hashes of one bucket as big-endian 32-bit integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from indextables.errors import error

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BYTES = 4


def encode(hashes: Any) -> bytes:
    """The file of these hashes, in the given order; the format allows any order."""
    given = np.asarray(hashes)
    if not given.size:
        return b""
    limits = np.iinfo(np.int32)
    if given.dtype.kind not in "iu" or given.min() < limits.min or given.max() > limits.max:
        raise error("HASH_INDEX_VALUE")
    return given.astype(">i4").tobytes()


def decode(data: bytes, count: int | None = None, path: str = "an index file") -> NDArray[np.int32]:
    """The hashes of a file in its order; `count` is their number according to the log."""
    if len(data) % _BYTES:
        raise _corrupt(path, f"its {len(data)} bytes are not a whole number of hashes")
    found = np.frombuffer(data, dtype=">i4").astype(np.int32)
    if count is not None and len(found) != count:
        raise _corrupt(path, f"it holds {len(found)} hashes where the log says {count}")
    return found


def _corrupt(path: str, rule: str) -> Exception:
    return error("FILE_CORRUPT", path=path, detail=f"hash index: {rule}")
