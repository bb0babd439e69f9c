"""Generated SQL: predicates and aggregates over the columns of `rows.py`."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from tests.oracle.rows import POOLS

COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]
ORDERED = [name for name in POOLS if name != "raw"]
SUMMABLE = ["i8", "i16", "i32", "small", "f32", "f64"]
GROUPABLE = [*ORDERED]


def literal(column: str, value: Any) -> str:
    """A value as SQL text of the column's own type."""
    if value is None:
        return "NULL"
    if column in ("f32", "f64"):
        kind = "FLOAT" if column == "f32" else "DOUBLE"
        return f"{kind}('{_float_text(value)}')"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        kind = "TIMESTAMP_NTZ" if column == "ntz" else "TIMESTAMP"
        return f"{kind}'{value:%Y-%m-%d %H:%M:%S.%f}'".replace("'1-", "'0001-")
    if isinstance(value, dt.date):
        return f"DATE'{value.isoformat()}'"
    if isinstance(value, int):
        return f"{value}L" if column == "i64" else str(value)
    return quote(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return str(value).replace("inf", "Infinity")


def quote(text: str) -> str:
    """Text as a SQL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _compare(column: str, operand: str | None = None) -> st.SearchStrategy[str]:
    left = operand or column
    values = st.sampled_from(POOLS[column]).map(lambda v: literal(column, v))
    return st.one_of(
        st.tuples(st.sampled_from(COMPARISONS), values).map(lambda t: f"{left} {t[0]} {t[1]}"),
        st.lists(st.one_of(values, st.just("NULL")), min_size=1, max_size=4).map(
            lambda vs: f"{left} IN ({', '.join(vs)})"
        ),
        st.tuples(values, values).map(lambda t: f"{left} BETWEEN {t[0]} AND {t[1]}"),
        st.sampled_from([f"{left} IS NULL", f"{left} IS NOT NULL", f"{left} <=> NULL"]),
    )


_PATTERNS = st.sampled_from(
    [
        "a%",
        "%b",
        "%b%",
        "_b",
        "a_c",
        "%",
        "",
        "b\\\\%c",
        "b\\\\_%",
        "%語%",
        "😀%",
        "x%y",
        "%\\\\\\\\%",
    ]
)
_REGEX = st.sampled_from(["^a", "b$", "[0-9]+", "a.c", "^$", "ä|日", "(?i)ZEBRA", "x{40}"])


def _strings(column: str) -> st.SearchStrategy[str]:
    pieces = st.sampled_from(["", "a", "b", "ab", "日", "'", "x" * 34, "pay", "reset"]).map(quote)
    functions = st.sampled_from(["startswith", "endswith", "contains"])
    return st.one_of(
        st.tuples(functions, pieces).map(lambda t: f"{t[0]}({column}, {t[1]})"),
        _PATTERNS.map(lambda p: f"{column} LIKE '{p}'"),
        _PATTERNS.map(lambda p: f"{column} NOT LIKE '{p}'"),
        _REGEX.map(lambda p: f"{column} RLIKE '{p}'"),
    )


_SPECIAL = st.sampled_from(
    [
        "flag", "NOT flag", "day = '2024-02-29'", "day > '1969-12-31'", "ts >= '2024-02-29'",
        "CAST(i32 AS STRING) = '42'", "i64 = 3.0", "i8 > 6.5", "i32 < i64", "f64 > i32",
        "upper(word) = 'AB'", "length(word) > 3", "year(ts) = 2024", "word = text",
        "small = 12.3", "big > 7", "i32 + 1 > 0", "array_contains(numbers, 3L)",
        "array_contains(words, 'ab')", "exists(numbers, x -> x > 2)", "size(words) = 0",
        "counts['a'] = 42", "counts['zz'] IS NULL", "person IS NULL", "numbers IS NULL",
        "person.home IS NOT NULL", "1 = 1", "1 = 2", "NULL",
    ]
)  # fmt: skip

LEAVES: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(list(POOLS)).flatmap(_compare),
    st.sampled_from(["word", "text"]).flatmap(_strings),
    _compare("i32", "person.age"),
    _compare("word", "person.name"),
    _compare("word", "person.home.city"),
    _compare("f64", "person.home.lat"),
    _SPECIAL,
)

PREDICATES: st.SearchStrategy[str] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda t: f"({t[0]}) AND ({t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]}) OR ({t[1]})"),
        inner.map(lambda p: f"NOT ({p})"),
    ),
    max_leaves=4,
)

_FUNCTIONS: st.SearchStrategy[str] = st.one_of(
    st.just("count(*)"),
    st.sampled_from([*POOLS, "person", "numbers"]).map(lambda c: f"count({c})"),
    st.sampled_from(ORDERED).flatmap(lambda c: st.sampled_from([f"min({c})", f"max({c})"])),
    st.sampled_from(SUMMABLE).flatmap(lambda c: st.sampled_from([f"sum({c})", f"avg({c})"])),
    st.sampled_from(ORDERED).map(lambda c: f"count(DISTINCT {c})"),
)
FUNCTIONS = st.lists(_FUNCTIONS, min_size=1, max_size=4)
KEYS = st.lists(
    st.sampled_from([*GROUPABLE, "person.age", "date_trunc('HOUR', ts)", "year(day)"]),
    max_size=2,
    unique=True,
)


@st.composite
def statements(draw: st.DrawFn) -> str:
    """A whole query; `{t}` stands for the table. Its rows do not depend on the plan."""
    where = draw(st.one_of(st.just("1 = 1"), PREDICATES))
    kind = draw(st.sampled_from(["rows", "aggregate", "group", "top"]))
    if kind == "rows":
        some = draw(st.lists(st.sampled_from([*POOLS, "person", "counts", "deep"]), max_size=3))
        columns = draw(st.sampled_from(["*", ", ".join(["id", *dict.fromkeys(some)])]))
        return f"SELECT {columns} FROM {{t}} WHERE {where}"
    functions = draw(FUNCTIONS)
    shown = ", ".join(f"{f} AS a{i}" for i, f in enumerate(functions))
    if kind == "aggregate":
        return f"SELECT {shown} FROM {{t}} WHERE {where}"
    if kind == "group":
        keys = draw(KEYS) or ["word"]
        named = ", ".join(f"{k} AS k{i}" for i, k in enumerate(keys))
        return f"SELECT {named}, {shown} FROM {{t}} WHERE {where} GROUP BY {', '.join(keys)}"
    order = draw(st.sampled_from(ORDERED))
    direction = draw(st.sampled_from(["ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"]))
    limit = draw(st.integers(0, 12))
    sort = f"ORDER BY {order} {direction}, id LIMIT {limit}"
    return f"SELECT id, {order} FROM {{t}} WHERE {where} {sort}"
