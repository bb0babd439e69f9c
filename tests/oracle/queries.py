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
    """A value as a SQL literal of the column's type."""
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
    """A string as a SQL literal."""
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
        "small = 12.3", "big > 7", "i32 % 7 > 0", "array_contains(numbers, 3L)",
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


DIRECTIONS = st.sampled_from(["ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"])
WHERES = st.one_of(st.just("1 = 1"), PREDICATES)
COLUMNS = st.lists(st.sampled_from([*POOLS, "person", "counts", "deep"]), max_size=3, unique=True)


@st.composite
def _cuts(draw: st.DrawFn, order: str) -> str:
    """The end of a query with a total order."""
    offset = draw(st.sampled_from(["", "", f" OFFSET {draw(st.integers(0, 5))}"]))
    return f"ORDER BY {order} LIMIT {draw(st.integers(0, 12))}{offset}"


@st.composite
def _rows(draw: st.DrawFn) -> str:
    columns = draw(st.sampled_from(["*", ", ".join(["id", *draw(COLUMNS)])]))
    return f"SELECT {columns} FROM {{t}} WHERE {draw(WHERES)}"


def _shown(functions: list[str]) -> str:
    return ", ".join(f"{f} AS a{i}" for i, f in enumerate(functions))


@st.composite
def _aggregate(draw: st.DrawFn) -> str:
    return f"SELECT {_shown(draw(FUNCTIONS))} FROM {{t}} WHERE {draw(WHERES)}"


@st.composite
def _groups(draw: st.DrawFn) -> str:
    keys = draw(KEYS) or ["word"]
    named = ", ".join(f"{k} AS k{i}" for i, k in enumerate(keys))
    having = draw(st.sampled_from(["", "", " HAVING count(*) > 1"]))
    text = (
        f"SELECT {named}, {_shown(draw(FUNCTIONS))} FROM {{t}} WHERE {draw(WHERES)} "
        f"GROUP BY {', '.join(keys)}{having}"
    )
    order = ", ".join(f"k{i} {draw(DIRECTIONS)}" for i in range(len(keys)))
    return f"{text} {draw(_cuts(order))}" if draw(st.booleans()) else text


@st.composite
def _top(draw: st.DrawFn) -> str:
    order = draw(st.sampled_from(ORDERED))
    cut = draw(_cuts(f"{order} {draw(DIRECTIONS)}, id"))
    return f"SELECT id, {order} FROM {{t}} WHERE {draw(WHERES)} {cut}"


@st.composite
def _nested(draw: st.DrawFn) -> str:
    """Subqueries: what is pushed down must not move to another level."""
    one = f"SELECT id, word FROM {{t}} WHERE {draw(WHERES)}"
    other = f"SELECT id, i32 FROM {{t}} WHERE {draw(WHERES)}"
    return draw(
        st.sampled_from(
            [
                f"SELECT count(*) AS a0, min(id) AS a1 FROM ({draw(_top())})",
                f"SELECT x.id, word, i32 FROM ({one}) x JOIN ({other}) y ON x.id = y.id",
                f"SELECT x.id, i32 FROM ({one}) x LEFT JOIN ({other}) y ON x.id = y.id",
                f"{one} AND id IN (SELECT id FROM ({other}))",
                f"{one} AND NOT EXISTS (SELECT 1 FROM ({other}) y WHERE y.id = {{t}}.id)",
                f"SELECT id FROM ({one}) UNION ALL SELECT id FROM ({other})",
                f"SELECT word, count(*) AS a0 FROM ({one} {draw(_cuts('id'))}) GROUP BY word",
                f"SELECT DISTINCT word FROM ({one})",
                f"WITH x AS ({one}) SELECT count(*) AS a0, (SELECT max(i32) FROM ({other})) FROM x",
            ]
        )
    )


def statements() -> st.SearchStrategy[str]:
    """A complete query; `{t}` is the table. Its rows do not depend on the plan."""
    return st.one_of(_rows(), _aggregate(), _groups(), _top(), _nested())
