"""Arrow arrays of a few Python values.

`pyarrow.array` imports pandas if it is installed, which takes longer than everything else that a
new process does before its first answer. These arrays are built from buffers instead.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBERS = {pa.int64(): "q", pa.int32(): "i", pa.float64(): "d"}


# prefixes of nested types: their members are checked when they are converted
_NESTED = (pa.types.is_list, pa.types.is_map, pa.types.is_struct)


def small_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array of Python values: strings, numbers, booleans, and lists, maps and structs of them.

    A value of a map is a list of its items, a value of a struct a mapping. Other types are left to
    pyarrow.
    """
    if not _is_known(kind):
        return pa.array(values, kind)
    present = [value is not None for value in values]
    missing = present.count(False)
    if missing == len(values):
        return pa.nulls(missing, kind)
    validity = _bits(present) if missing else None
    buffers, children = _content(values, kind)
    return pa.Array.from_buffers(
        kind, len(values), [validity, *buffers], missing, children=children or None
    )


def small_scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    """A Python value, or null, as a scalar."""
    return pa.nulls(1, kind)[0] if value is None else small_array([value], kind)[0]


@lru_cache(maxsize=256)
def _is_known(kind: pa.DataType) -> bool:
    plain = kind in _NUMBERS or pa.types.is_boolean(kind) or pa.types.is_string(kind)
    return plain or any(is_nested(kind) for is_nested in _NESTED)


def _content(values: Sequence[Any], kind: pa.DataType) -> tuple[list[pa.Buffer], list[pa.Array]]:
    """The buffers after the validity buffer, and the child arrays."""
    if kind in _NUMBERS:
        return [_buffer(array(_NUMBERS[kind], [value or 0 for value in values]))], []
    if pa.types.is_boolean(kind):
        return [_bits(values)], []
    if pa.types.is_string(kind):
        texts = [(value or "").encode() for value in values]
        return [_offsets(texts), pa.py_buffer(b"".join(texts))], []
    if pa.types.is_struct(kind):
        return [], [
            small_array([(value or {}).get(member.name) for value in values], member.type)
            for member in kind
        ]
    lists = [value or () for value in values]
    items = list(chain.from_iterable(lists))
    if pa.types.is_map(kind):
        entry = pa.struct([kind.key_field, kind.item_field])
        names = (kind.key_field.name, kind.item_field.name)
        entries = [dict(zip(names, item, strict=True)) for item in items]
        return [_offsets(lists)], [small_array(entries, entry)]
    return [_offsets(lists)], [small_array(items, kind.value_type)]


def _buffer(numbers: array[Any]) -> pa.Buffer:
    return pa.py_buffer(numbers.tobytes())


def _offsets(parts: Sequence[Sequence[Any]]) -> pa.Buffer:
    return _buffer(array("i", accumulate(map(len, parts), initial=0)))


def _bits(values: Sequence[Any]) -> pa.Buffer:
    """One bit per value, the first one lowest."""
    number = sum(1 << at for at, value in enumerate(values) if value)
    return pa.py_buffer(number.to_bytes(len(values) // 8 + 1, "little"))


FALSE, TRUE = small_array([False, True], pa.bool_())
