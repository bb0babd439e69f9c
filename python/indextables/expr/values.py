"""Values of literals: in JSON, in Python, and in Spark's order.

In Python a date is its day number, a timestamp its microseconds, an interval its microseconds or
months: the numbers the engine compares. Decimals are `decimal.Decimal`, binary is `bytes`. Strings
that are not UTF-8 have surrogate escapes (`model.strings`).
"""

from __future__ import annotations

import base64
import math
import struct
from decimal import Decimal as Number
from typing import TYPE_CHECKING, Any

from indextables.model.kinds import KINDS, Family, names_of
from indextables.model.strings import from_json, to_bytes, to_json
from indextables.model.types import Array, Atomic, DataType, Decimal, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEGRAL_BITS = {
    kind.name: kind.bits for kind in KINDS.values() if kind.family is Family.INTEGER and kind.bits
}
FLOATING = names_of(Family.FLOATING)
NESTED = names_of(Family.NESTED)
# kinds whose values are whole numbers: the same in JSON, in Python and in the engine
WHOLE = frozenset(kind.name for kind in KINDS.values() if kind.bits)
# kinds whose values have no order
UNORDERED = names_of(Family.NESTED, Family.VOID)


def kind_of(column_type: DataType) -> str:
    """The kind of a type, which determines how its values behave."""
    if isinstance(column_type, Atomic):
        return column_type.kind
    if isinstance(column_type, Decimal):
        return "decimal"
    if isinstance(column_type, Struct):
        return "struct"
    return "array" if isinstance(column_type, Array) else "map"


def is_plain_string(column_type: DataType) -> bool:
    """Whether text of this type is compared by its bytes, not by a collation."""
    if not isinstance(column_type, Atomic) or column_type.kind != "string":
        return False
    return not column_type.name.startswith("string collate ") or column_type.name.endswith(
        " UTF8_BINARY"
    )


def decode(value: Any, column_type: DataType) -> Any:  # noqa: PLR0911 (one per kind)
    """The Python value of a JSON value of this type."""
    if value is None:
        return None
    kind = kind_of(column_type)
    if kind in FLOATING:
        number = float(value)
        return to_float32(number) if kind == "float" else number
    if kind == "decimal":
        return Number(str(value))
    if kind == "binary":
        return base64.b64decode(value)
    if kind == "string":
        return from_json(value)
    if isinstance(column_type, Array):
        return [decode(item, column_type.element) for item in value]
    return value


def decode_all(values: Sequence[Any], column_type: DataType) -> Sequence[Any]:
    """The Python values of many JSON values of this type."""
    if kind_of(column_type) in WHOLE:
        return values
    return [decode(value, column_type) for value in values]


def encode_all(values: Sequence[Any], column_type: DataType) -> list[Any]:
    """The JSON values the engine understands for many Python values of this type."""
    if kind_of(column_type) in WHOLE:
        return list(values)
    return [encode(value, column_type) for value in values]


def encode(value: Any, column_type: DataType) -> Any:
    """The JSON value the engine understands for a Python value of this type."""
    kind = kind_of(column_type)
    if kind in FLOATING:
        return encode_float(float(value))
    if kind == "decimal":
        return format(value, "f")
    if kind == "binary":
        return base64.b64encode(value).decode("ascii")
    return to_json(value) if kind == "string" else value


def encode_float(value: float) -> float | str:
    """A float for JSON, which has no NaN and infinities: they are written as in Java."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def to_float32(value: float) -> float:
    """The nearest value a Spark `float` can hold."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def order_key(value: Any) -> Any:
    """A key that sorts values of one type as Spark does: NaN last, -0.0 equal to 0.0, bytes."""
    if isinstance(value, str):
        return to_bytes(value)
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value


def same(left: Any, right: Any) -> bool:
    """Whether two values of one type are equal in Spark."""
    return bool(order_key(left) == order_key(right))
