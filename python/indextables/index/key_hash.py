"""The hash of a primary key, equal to Apache Paimon's: Murmur3 over the key as a BinaryRow.

    row   := null bits, 8 bytes per 64 (the first 8 bits are the row kind)
             8 bytes per column: the value, or its offset in the variable part
             variable part: long strings, wide decimals, timestamps; each padded to 8 bytes

Everything works on whole Arrow columns: rows are laid out in one buffer and hashed word by word.
spec: ROWS key hash
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from indextables.errors import error
from indextables.model import kernels as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SEED = np.uint32(42)
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_INLINE_BYTES = 7
_COMPACT_PRECISION = 18


@dataclass(frozen=True)
class _Column:
    """One column of the rows: its slots, and the bytes of its values in the variable part.

    `sizes` is the padded size per row; slots of rows with a size get the offset added.
    """

    slots: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def hash_keys(columns: Sequence[Any]) -> NDArray[np.int32]:
    """The hashes of keys, given as Arrow columns in the order of the key."""
    rows, starts = binary_rows(columns)
    return _murmur3(rows, starts)


def key_texts(columns: Sequence[Any]) -> pa.Array:
    """The keys as bytes; equal keys have equal bytes."""
    rows, starts = binary_rows(columns)
    buffers = [None, pa.py_buffer(starts.astype(np.int64)), pa.py_buffer(rows)]
    return pa.Array.from_buffers(pa.large_binary(), len(starts) - 1, buffers)


def binary_rows(columns: Sequence[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The keys as BinaryRow bytes: one buffer and the offsets of the rows (one more than rows)."""
    arrays = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
    rows = len(arrays[0]) if arrays else 1
    parts = [_column(array) for array in arrays]
    null_bytes = (len(arrays) + 63 + 8) // 64 * 8
    fixed = null_bytes + 8 * len(arrays)
    sizes = np.full(rows, fixed, dtype=np.int64)
    for part in parts:
        sizes += part.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)])
    out = np.zeros(int(starts[-1]), dtype=np.uint8)
    words = out.view(np.uint64)
    behind = np.full(rows, fixed, dtype=np.int64)
    for index, (part, array) in enumerate(zip(parts, arrays, strict=True)):
        slots = part.slots.copy()
        apart = part.sizes > 0
        slots[apart] |= behind[apart].astype(np.uint64) << np.uint64(32)
        words[(starts[:-1] + null_bytes + 8 * index) // 8] = slots
        _scatter(out, starts[:-1] + behind, part)
        behind += part.sizes
        if array.null_count:
            bit = 8 + index
            nulls = array.is_null().to_numpy(zero_copy_only=False)
            out[starts[:-1][nulls] + bit // 8] |= np.uint8(1 << bit % 8)
    return out, starts


def _scatter(out: NDArray[np.uint8], targets: NDArray[np.int64], part: _Column) -> None:
    """Copy the variable bytes of every row to their offset."""
    total = int(part.lengths.sum())
    if not total:
        return
    ends = np.cumsum(part.lengths)
    within = np.arange(total) - np.repeat(ends - part.lengths, part.lengths)
    source = part.data[np.repeat(part.starts, part.lengths) + within]
    out[np.repeat(targets, part.lengths) + within] = source


def _column(array: pa.Array) -> _Column:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _column(array.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _text(array.cast(pa.large_string()).cast(pa.large_binary()))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _text(array.cast(pa.large_binary()))
    if pa.types.is_decimal(kind):
        return _decimal(array)
    if pa.types.is_timestamp(kind):
        return _timestamp(array)
    return _fixed(_slots(array))


def _fixed(slots: NDArray[np.uint64]) -> _Column:
    none = np.zeros(len(slots), dtype=np.int64)
    return _Column(slots, none, np.empty(0, dtype=np.uint8), none, none)


_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _slots(array: pa.Array) -> NDArray[np.uint64]:
    """Store values of up to 8 bytes in the low bytes of their slots, never sign-extended."""
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise error("KEY_TYPE", type=str(kind))
    values = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False)
    bits = np.ascontiguousarray(values).view(_UNSIGNED[values.dtype.itemsize])
    return bits.astype(np.uint64)


def _text(array: pa.Array) -> _Column:
    """Store up to 7 bytes in the slot with their length, longer values in the variable part."""
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    array = pc.fill_null(array, b"") if array.null_count else array
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64, count=array.offset + len(array) + 1)
    starts = offsets[array.offset : -1]
    lengths = offsets[array.offset + 1 :] - starts
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer else np.empty(0, np.uint8)
    inline = lengths <= _INLINE_BYTES
    slots = np.where(inline, (lengths | 0x80) << 56, lengths).astype(np.uint64)
    for byte in range(_INLINE_BYTES):
        here = inline & (lengths > byte)
        slots[here] |= data[starts[here] + byte].astype(np.uint64) << np.uint64(8 * byte)
    slots[nulls] = 0
    behind = np.where(inline, 0, lengths)
    return _Column(slots, (behind + 7) // 8 * 8, data, starts, behind)


def _decimal(array: pa.Array) -> _Column:
    """Up to 18 digits are a long; wider ones 16 bytes of big-endian two's complement."""
    wide = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    wide = pc.fill_null(wide, pa.scalar(Decimal(), wide.type)) if wide.null_count else wide
    raw = np.frombuffer(wide.buffers()[1], dtype=np.uint8).reshape(-1, 16)
    raw = np.ascontiguousarray(raw[wide.offset : wide.offset + len(wide)])
    if array.type.precision <= _COMPACT_PRECISION:
        return _fixed(raw.view(np.uint64)[:, 0].copy())
    big = np.ascontiguousarray(raw[:, ::-1])
    sign = big[:, :1] >> 7
    redundant = (big[:, :-1] == sign * 0xFF) & (big[:, 1:] >> 7 == sign)
    spare = np.cumprod(redundant, axis=1).sum(axis=1)
    lengths = 16 - spare
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    lengths = np.where(nulls, 0, lengths).astype(np.int64)
    starts = np.arange(len(big), dtype=np.int64) * 16 + spare
    room = np.full(len(big), 16, dtype=np.int64)
    return _Column(lengths.astype(np.uint64), room, big.reshape(-1), starts, lengths)


def _timestamp(array: pa.Array) -> _Column:
    """Store milliseconds in the variable part and the remaining nanoseconds in the slot."""
    micros = array.cast(pa.timestamp("us", tz=array.type.tz)).cast(pa.int64())
    values = pc.fill_null(micros, 0).to_numpy(zero_copy_only=False)
    millis, rest = np.divmod(values, 1000)
    room = np.full(len(values), 8, dtype=np.int64)
    starts = np.arange(len(values), dtype=np.int64) * 8
    data = np.ascontiguousarray(millis.astype("<i8")).view(np.uint8)
    return _Column((rest * 1000).astype(np.uint64), room, data, starts, room)


def _murmur3(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Murmur3 x86 32-bit of every row at once, longest rows first so that the work shrinks."""
    words = data.view(np.uint32)
    first = starts[:-1] // 4
    counts = np.diff(starts) // 4
    order = np.argsort(-counts, kind="stable")
    first, counts = first[order], counts[order]
    state = np.full(len(first), _SEED, dtype=np.uint32)
    with np.errstate(over="ignore"):
        for word in range(int(counts[0]) if len(counts) else 0):
            alive = int(np.searchsorted(-counts, -word, side="left"))
            state[:alive] = _mix(state[:alive], words[first[:alive] + word])
        state ^= (counts * 4).astype(np.uint32)
        state = _finish(state)
    hashes = np.empty(len(state), dtype=np.int32)
    hashes[order] = state.view(np.int32)
    return hashes


def _mix(state: NDArray[np.uint32], word: NDArray[np.uint32]) -> NDArray[np.uint32]:
    word = _rotate(word * _C1, 15) * _C2
    return _rotate(state ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _rotate(value: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
    return (value << np.uint32(by)) | (value >> np.uint32(32 - by))


def _finish(state: NDArray[np.uint32]) -> NDArray[np.uint32]:
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return state ^ (state >> np.uint32(16))
