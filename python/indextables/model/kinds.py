"""The kinds of column types: one table from which everything that depends on types derives.

A kind is a type without the parameters that do not affect behavior: length, collation, units,
precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import pyarrow as pa


class Family(Enum):
    """Kinds whose values behave alike."""

    BOOLEAN = auto()
    INTEGER = auto()
    FLOATING = auto()
    DECIMAL = auto()
    STRING = auto()
    BINARY = auto()
    TIME = auto()
    INTERVAL = auto()
    NESTED = auto()
    VOID = auto()


@dataclass(frozen=True)
class Kind:
    """One kind of column type.

    `arrow` is its Arrow type, None if parameters or members determine it. `bits` is the width of
    the whole numbers that represent its values. `has_stats`: the log stores bounds. `is_key`: equal
    values have the same bytes. `text_elsewhere`: other writers store it as strings, in their order.
    """

    name: str
    family: Family
    arrow: pa.DataType | None = None
    aliases: tuple[str, ...] = ()
    bits: int | None = None
    has_stats: bool = True
    is_key: bool = True
    text_elsewhere: bool = False


_INTEGER, _TIME, _INTERVAL = Family.INTEGER, Family.TIME, Family.INTERVAL
_ROWS = (
    Kind("boolean", Family.BOOLEAN, pa.bool_()),
    Kind("byte", _INTEGER, pa.int8(), ("tinyint",), bits=8, text_elsewhere=True),
    Kind("short", _INTEGER, pa.int16(), ("smallint",), bits=16, text_elsewhere=True),
    Kind("integer", _INTEGER, pa.int32(), ("int",), bits=32),
    Kind("long", _INTEGER, pa.int64(), ("bigint",), bits=64),
    # -0.0 and 0.0 are equal but have different bytes
    Kind("float", Family.FLOATING, pa.float32(), ("real",), is_key=False),
    Kind("double", Family.FLOATING, pa.float64(), is_key=False),
    Kind("decimal", Family.DECIMAL, text_elsewhere=True),
    Kind("string", Family.STRING, pa.string()),
    Kind("binary", Family.BINARY, pa.binary(), has_stats=False),
    Kind("date", _TIME, pa.date32(), bits=32),
    Kind("timestamp", _TIME, pa.timestamp("us", tz="UTC"), bits=64),
    Kind("timestamp_ntz", _TIME, pa.timestamp("us"), bits=64, text_elsewhere=True),
    Kind("day_time", _INTERVAL, pa.duration("us"), bits=64, has_stats=False, is_key=False),
    Kind("year_month", _INTERVAL, pa.int32(), bits=32, has_stats=False, is_key=False),
    Kind("struct", Family.NESTED, has_stats=False, is_key=False),
    Kind("array", Family.NESTED, has_stats=False, is_key=False),
    Kind("map", Family.NESTED, has_stats=False, is_key=False),
    Kind("void", Family.VOID, pa.null(), has_stats=False, is_key=False),
)
KINDS = {kind.name: kind for kind in _ROWS}
ALIASES = {alias: kind.name for kind in _ROWS for alias in kind.aliases}


def names_of(*families: Family) -> frozenset[str]:
    """The kinds of these families."""
    return frozenset(kind.name for kind in _ROWS if kind.family in families)
