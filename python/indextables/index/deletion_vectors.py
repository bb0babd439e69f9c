"""Deletion vectors: the deleted rows of a split, in files identical to Apache Paimon's.

    file    := 0x01 record*
    record  := SIZE (i32 BE)  DATA (SIZE bytes)  CRC-32 of DATA (u32 BE)
    32-bit  := 5E 43 F2 D0  roaring bitmap, portable
    64-bit  := D1 D3 39 64  COUNT (i64 LE)  { KEY (i32 LE)  roaring bitmap, portable }*

A record is addressed by its offset and a `length` that means two things: SIZE for the 32-bit form,
SIZE + 8 (the whole record) for the 64-bit form. spec: ROWS deletion vectors
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

VERSION = b"\x01"
MAX_POSITION_32 = 2**31 - 1
MAX_POSITION_64 = 0x7FFFFFFE80000000
TARGET_BYTES = 2 << 20
_MAGIC_32 = bytes.fromhex("5e43f2d0")
_MAGIC_64 = bytes.fromhex("d1d33964")
_SIZE = struct.Struct(">i")
_CRC = struct.Struct(">I")
_COUNT = struct.Struct("<q")
_KEY = struct.Struct("<i")
# the smallest bitmap, an empty one, takes 8 bytes after its key
_MIN_ENTRY = _KEY.size + 8
_MAX_FILE_BYTES = 2**31 - 1


@dataclass(frozen=True)
class VectorRange:
    """The range of one split's vector in its file, as the log stores it."""

    offset: int
    length: int
    cardinality: int


@dataclass(frozen=True)
class VectorFile:
    """A complete index file: its name, its bytes and the ranges of the splits in it."""

    name: str
    data: bytes
    ranges: Mapping[str, VectorRange]


def encode(positions: Any, bitmap64: bool = False) -> bytes:  # noqa: FBT001, FBT002 -- the name of Paimon's own switch
    """One record (size, data, checksum) of these positions, in any order, duplicates allowed."""
    data = _data_64(_sorted(positions, MAX_POSITION_64)) if bitmap64 else _data_32(positions)
    return _SIZE.pack(len(data)) + data + _CRC.pack(zlib.crc32(data))


def decode_bitmap(
    data: bytes,
    offset: int,
    length: int,
    cardinality: int | None = None,
    path: str = "an index file",
) -> BitMap:
    """The record at `offset` as a 32-bit bitmap, because a split numbers its rows by 32 bits."""
    bitmaps = decode_bitmaps(data, offset, length, cardinality, path)
    if any(key and bitmap for key, bitmap in bitmaps):
        raise _corrupt(path, offset, "a position is beyond the rows a split can have")
    return next((bitmap for key, bitmap in bitmaps if key == 0), BitMap())


def decode_bitmaps(
    data: bytes, offset: int, length: int, cardinality: int | None, path: str
) -> list[tuple[int, BitMap]]:
    """The record as pairs of the upper 32 bits and a bitmap of the lower ones, verified."""
    body, is_64 = _checked_body(data, offset, length, path)
    bitmaps = _bitmaps_64(body, path, offset) if is_64 else [(0, _bitmap_32(body, path, offset))]
    found = sum(len(bitmap) for _, bitmap in bitmaps)
    if cardinality is not None and found != cardinality:
        raise _corrupt(path, offset, f"it holds {found} positions where the log says {cardinality}")
    return bitmaps


def check_version(version: bytes, path: str) -> None:
    """Reject a file whose first byte is not the version of this format."""
    if version != VERSION:
        detail = f"deletion vectors: its version is {version[0]}, this reads {VERSION[0]}"
        raise error("FILE_CORRUPT", path=path, detail=detail)


def range_of(record: bytes, offset: int, cardinality: int) -> VectorRange:
    """The range that the log stores for a record at this offset."""
    is_64 = record[_SIZE.size :].startswith(_MAGIC_64)
    return VectorRange(offset, len(record) if is_64 else len(record) - 8, cardinality)


def write_files(
    vectors: Iterable[tuple[str, Any]],
    new_name: Callable[[], str],
    *,
    bitmap64: bool = False,
    target_bytes: int | None = TARGET_BYTES,
) -> Iterator[VectorFile]:
    """Pack the positions of many splits into index files.

    A file ends with the vector that exceeds the target; None packs everything into one file, which
    is also written if there is nothing to pack.
    """
    data, written = bytearray(VERSION), False
    ranges: dict[str, VectorRange] = {}
    for split, positions in vectors:
        record = encode(positions, bitmap64)
        if len(data) + len(record) > _MAX_FILE_BYTES:
            yield VectorFile(new_name(), bytes(data), ranges)
            data, ranges, written = bytearray(VERSION), {}, True
        ranges[split] = range_of(record, len(data), _cardinality(positions))
        data += record
        if target_bytes is not None and len(data) > target_bytes:
            yield VectorFile(new_name(), bytes(data), ranges)
            data, ranges, written = bytearray(VERSION), {}, True
    if ranges or (target_bytes is None and not written):
        yield VectorFile(new_name(), bytes(data), ranges)


def _sorted(positions: Any, limit: int) -> NDArray[np.uint64]:
    if isinstance(positions, BitMap):
        return np.asarray(positions.to_array(), dtype=np.uint64)
    given = np.asarray(positions if hasattr(positions, "__len__") else list(positions))
    if isinstance(positions, (set, frozenset)):
        given = np.asarray(list(positions))
    if not given.size:
        return np.empty(0, dtype=np.uint64)
    # numpy stores integers beyond 64 bits as `object` and mixtures as floats: neither are positions
    if given.dtype.kind not in "iu" or given.min() < 0 or given.max() > limit:
        raise error("DELETION_VECTOR_POSITION", limit=limit)
    return np.unique(given.astype(np.uint64))


def _cardinality(positions: Any) -> int:
    return len(positions) if isinstance(positions, BitMap) else len(_sorted(positions, 2**63))


def _bitmap_of(low: NDArray[np.uint32]) -> bytes:
    bitmap = BitMap(low)
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def _data_32(positions: Any) -> bytes:
    if isinstance(positions, BitMap):
        if positions and positions.max() > MAX_POSITION_32:
            raise error("DELETION_VECTOR_POSITION", limit=MAX_POSITION_32)
        bitmap = positions.copy()
        bitmap.run_optimize()
        return _MAGIC_32 + bytes(bitmap.serialize())
    return _MAGIC_32 + _bitmap_of(_sorted(positions, MAX_POSITION_32).astype(np.uint32))


def _data_64(positions: NDArray[np.uint64]) -> bytes:
    # Paimon writes an array of bitmaps up to the highest key, so absent keys are empty bitmaps
    keys = (positions >> np.uint64(32)).astype(np.int64)
    count = int(keys[-1]) + 1 if keys.size else 0
    cuts = np.searchsorted(keys, np.arange(count + 1))
    low = (positions & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    parts = [_MAGIC_64, _COUNT.pack(count)]
    for key in range(count):
        parts += [_KEY.pack(key), _bitmap_of(low[cuts[key] : cuts[key + 1]])]
    return b"".join(parts)


def _size_at(data: bytes, offset: int, path: str) -> int:
    if offset < 0 or offset + 8 > len(data):
        raise _corrupt(path, offset, f"the file ends at {len(data)}")
    size = int(_SIZE.unpack_from(data, offset)[0])
    if size < len(_MAGIC_32) or offset + size + 8 > len(data):
        raise _corrupt(path, offset, f"its size {size} does not fit the file of {len(data)} bytes")
    return size


def _checked_body(data: bytes, offset: int, length: int, path: str) -> tuple[bytes, bool]:
    """The data of a record after its magic number; size and checksum are verified."""
    size = _size_at(data, offset, path)
    body = bytes(data[offset + 4 : offset + 4 + size])
    magic = body[:4]
    if magic not in (_MAGIC_32, _MAGIC_64):
        raise _corrupt(path, offset, f"its magic number is {magic.hex()}")
    is_64 = magic == _MAGIC_64
    if length != (size + 8 if is_64 else size):
        raise _corrupt(path, offset, f"its size is {size} where the log has length {length}")
    stored = _CRC.unpack_from(data, offset + 4 + size)[0]
    if zlib.crc32(body) != stored:
        raise _corrupt(path, offset, "its checksum does not match")
    return body[4:], is_64


def _bitmap_32(body: bytes, path: str, offset: int) -> BitMap:
    bitmap, used = _deserialize(body, path, offset)
    if used != len(body):
        raise _corrupt(path, offset, f"{len(body) - used} bytes follow the bitmap")
    if bitmap and bitmap.max() > MAX_POSITION_32:
        raise _corrupt(path, offset, "a position is above the 32-bit form's limit")
    return bitmap


def _bitmaps_64(body: bytes, path: str, offset: int) -> list[tuple[int, BitMap]]:
    if len(body) < _COUNT.size:
        raise _corrupt(path, offset, "it ends before its bitmap count")
    count = _COUNT.unpack_from(body)[0]
    at, last, found = _COUNT.size, -1, []
    if count < 0 or count * _MIN_ENTRY > len(body) - at:
        raise _corrupt(path, offset, f"{count} bitmaps do not fit into {len(body)} bytes")
    for _ in range(count):
        if at + _MIN_ENTRY > len(body):
            raise _corrupt(path, offset, "it ends within its bitmaps")
        key = _KEY.unpack_from(body, at)[0]
        if key <= last:
            raise _corrupt(path, offset, f"key {key} follows key {last}")
        bitmap, used = _deserialize(body[at + _KEY.size :], path, offset)
        found.append((key, bitmap))
        at, last = at + _KEY.size + used, key
    if at != len(body):
        raise _corrupt(path, offset, f"{len(body) - at} bytes follow the bitmaps")
    return found


def _deserialize(data: bytes, path: str, offset: int) -> tuple[BitMap, int]:
    """A bitmap and the number of its bytes."""
    try:
        bitmap = BitMap.deserialize(data)
    except (ValueError, RuntimeError, MemoryError):
        raise _corrupt(path, offset, "its bitmap cannot be read") from None
    return bitmap, len(bitmap.serialize())


def _corrupt(path: str, offset: int, rule: str) -> Exception:
    return error("FILE_CORRUPT", path=path, detail=f"deletion vector at {offset}: {rule}")
