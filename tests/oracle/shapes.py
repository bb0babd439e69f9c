"""Generated tables: their columns, names and partitioning."""

from __future__ import annotations

import datetime as dt
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from tests.oracle.queries import COMPARISONS, literal
from tests.oracle.rows import POOLS, TYPES

NAMES = [
    "plain",
    "UPPER",
    "with space",
    "dotted.name",
    "ünï",
    "select",
    "日付",
    "a-b",
    "_lead",
    "7up",
]
PARTITIONABLE = [k for k in TYPES if k not in ("raw", "text")]
SUMMABLE = ("i8", "i16", "i32", "small", "f32", "f64")
_EPOCH = POOLS["ts"][1]
_CHARACTERS = "aAbé 日😀%_\\'\"/=.:*?\x01\u200b\ud7ff"


@dataclass(frozen=True)
class Column:
    """A column: `kind` is a key of TYPES, or None for a nested one."""

    name: str
    kind: str | None
    type: pa.DataType
    null_rate: float

    @property
    def sql(self) -> str:
        """The name of the column in SQL."""
        return f"`{self.name}`"


@dataclass(frozen=True)
class Shape:
    """A generated table: its rows, and the queries that each column supports."""

    rows: pa.Table
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...]
    files: int

    @property
    def texts(self) -> list[str]:
        """The columns to tokenize."""
        inside = (c for c in self.columns if c.name not in self.partition_by)
        return [c.name for c in inside if c.kind == "text"]


def generate(seed: int) -> Shape:
    """Generate a shape; equal seeds give equal shapes."""
    source = random.Random(seed)
    kinds = [source.choice(list(TYPES)) for _ in range(source.randint(2, 9))]
    names = source.sample(NAMES, len(kinds)) if len(kinds) <= len(NAMES) else NAMES
    columns = [
        Column(n, k, TYPES[k], _null_rate(source)) for n, k in zip(names, kinds, strict=True)
    ]
    columns += [
        Column(f"nest{number}", None, _nested(source, 3), _null_rate(source))
        for number in range(source.randrange(3))
    ]
    source.shuffle(columns)
    simple = [c.name for c in columns if c.kind in PARTITIONABLE]
    partition_by = source.sample(simple, min(len(simple), source.choice([0, 0, 1, 1, 2])))
    if len(partition_by) == len(columns):
        partition_by.pop()
    count = source.choice([0, 1, 7, 60, 200])
    arrays = {"id": pa.array(range(count), pa.int64())}
    for column in columns:
        # few values per partition column: each value is a folder
        make = _maker(source, column, fresh=column.name not in partition_by)
        values = [None if source.random() < column.null_rate else make() for _ in range(count)]
        arrays[column.name] = pa.array(values, column.type)
    return Shape(pa.table(arrays), tuple(columns), tuple(partition_by), source.randint(1, 3))


def _null_rate(source: random.Random) -> float:
    return source.choice([0.0, 0.1, 0.5, 1.0]) if source.random() < 0.9 else 0.9


def _nested(source: random.Random, depth: int) -> pa.DataType:
    leaf = TYPES[source.choice(list(TYPES))]
    if depth == 0:
        return leaf
    inner: Callable[[], pa.DataType] = lambda: (  # noqa: E731
        _nested(source, depth - 1) if source.random() < 0.5 else TYPES[source.choice(list(TYPES))]
    )
    form = source.choice(["struct", "list", "map"])
    if form == "struct":
        names = source.sample(["a", "b", "C", "d e", "ü"], source.randint(1, 3))
        return pa.struct([(name, inner()) for name in names])
    return pa.list_(inner()) if form == "list" else pa.map_(pa.string(), inner())


def _maker(source: random.Random, column: Column, *, fresh: bool) -> Callable[[], Any]:
    if column.kind is None:
        return lambda: _value(source, column.type)
    pool = POOLS[column.kind]
    if not fresh:
        few = source.sample(pool, min(3, len(pool)))
        return lambda: source.choice(few)
    return lambda: _value(source, column.type) if source.random() < 0.3 else source.choice(pool)


def _value(source: random.Random, kind: pa.DataType) -> Any:
    """A random value of a type; nested values may contain nulls."""
    some: Callable[[pa.DataType], Any] = lambda inner: (  # noqa: E731
        None if source.random() < 0.2 else _value(source, inner)
    )
    if pa.types.is_struct(kind):
        return {field.name: some(field.type) for field in kind}
    if pa.types.is_map(kind):
        keys = source.sample(["", "k", "K", "日", "a.b", "x y"], source.randrange(4))
        return [(key, some(kind.item_type)) for key in keys]
    if pa.types.is_list(kind):
        return [some(kind.value_type) for _ in range(source.randrange(4))]
    return _scalar(source, kind)


def _scalar(source: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return source.random() < 0.5
    if pa.types.is_integer(kind):
        return source.getrandbits(kind.bit_width) - 2 ** (kind.bit_width - 1)
    if pa.types.is_floating(kind):
        return struct.unpack("f", struct.pack("f", source.randint(-(2**20), 2**20) / 4))[0]
    if pa.types.is_decimal(kind):
        return Decimal(source.randrange(-(10**kind.precision) + 1, 10**kind.precision)).scaleb(
            -kind.scale
        )
    if pa.types.is_string(kind):
        longest = source.choice([3, 12, 400])
        return "".join(source.choice(_CHARACTERS) for _ in range(source.randrange(longest)))
    if pa.types.is_binary(kind):
        return source.randbytes(source.randrange(12))
    if pa.types.is_date(kind):
        return dt.date.fromordinal(source.randint(1, 3652059))
    micros = source.randint(-(2**51), 2**52)
    return _EPOCH + dt.timedelta(microseconds=micros)


def statements(shape: Shape) -> st.SearchStrategy[str]:
    """Queries of a shape's columns; `{t}` is the table."""
    simple = [column for column in shape.columns if column.kind is not None]
    leaves = st.one_of(
        st.sampled_from([f"{c.sql} IS NULL" for c in shape.columns]),
        st.sampled_from(simple).flatmap(lambda c: _comparison(shape, c)),
    )
    predicates = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
                lambda t: f"({t[0]}) {t[1]} ({t[2]})"
            ),
            inner.map(lambda p: f"NOT ({p})"),
        ),
        max_leaves=4,
    )
    where = st.one_of(st.just(""), predicates.map(lambda p: f" WHERE {p}"))
    return st.one_of(
        where.map(lambda w: f"SELECT * FROM {{t}}{w}"),
        st.tuples(_functions(simple), where).map(lambda t: f"SELECT {t[0]} FROM {{t}}{t[1]}"),
        st.tuples(st.sampled_from(simple), _functions(simple), where).map(
            lambda t: f"SELECT {t[0].sql}, {t[1]} FROM {{t}}{t[2]} GROUP BY {t[0].sql}"
        ),
        st.tuples(st.sampled_from(simple), _functions(simple), where).map(
            lambda t: (
                f"SELECT {t[0].sql}, {t[1]} FROM {{t}}{t[2]} GROUP BY {t[0].sql} "
                f"ORDER BY {t[0].sql} LIMIT 3 OFFSET 1"
            )
        ),
        st.tuples(st.sampled_from(simple), st.sampled_from(["ASC", "DESC"]), where).map(
            lambda t: (
                f"SELECT id, {t[0].sql} FROM {{t}}{t[2]} ORDER BY {t[0].sql} {t[1]}, id LIMIT 9"
            )
        ),
    )


def _comparison(shape: Shape, column: Column) -> st.SearchStrategy[str]:
    assert column.kind is not None
    stored = [v for v in shape.rows.column(column.name).slice(0, 40).to_pylist() if v is not None]
    if column.kind == "ts":
        stored = [value.replace(tzinfo=None) for value in stored]
    kind = column.kind
    values = st.sampled_from([*stored, *POOLS[kind]]).map(lambda v: literal(kind, v))
    return st.one_of(
        st.tuples(st.sampled_from(COMPARISONS), values).map(
            lambda t: f"{column.sql} {t[0]} {t[1]}"
        ),
        st.lists(values, min_size=1, max_size=3).map(lambda v: f"{column.sql} IN ({', '.join(v)})"),
        st.tuples(values, values).map(lambda t: f"{column.sql} BETWEEN {t[0]} AND {t[1]}"),
    )


def _functions(columns: list[Column]) -> st.SearchStrategy[str]:
    ordered = [c.sql for c in columns if c.kind != "raw"] or ["id"]
    summable = [c.sql for c in columns if c.kind in SUMMABLE] or ["id"]
    one = st.one_of(
        st.just("count(*)"),
        st.sampled_from([f"count({c.sql})" for c in columns]),
        st.sampled_from(ordered).flatmap(lambda c: st.sampled_from([f"min({c})", f"max({c})"])),
        st.sampled_from(summable).flatmap(lambda c: st.sampled_from([f"sum({c})", f"avg({c})"])),
    )
    named: Callable[[list[str]], str] = lambda fs: ", ".join(  # noqa: E731
        f"{f} AS a{i}" for i, f in enumerate(fs)
    )
    return st.lists(one, min_size=1, max_size=3).map(named)
