"""Every kind of predicate finds exactly the rows that plain Python finds."""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from rows import EPOCH, LAYOUTS, NAMES, open_rows, some_rows

if TYPE_CHECKING:
    from collections.abc import Callable

DOC = pa.schema([("_doc", pa.int64())])
DAY = dt.date(2024, 1, 1)
INSTANT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)

LITERALS: dict[str, list[Any]] = {
    "flag": [True, False],
    "tiny": [-128, 5, 6],
    "small": [7, 32767],
    "number": [3, -(2**31), 1000],
    "big": [3, 2**63 - 1, -(2**63)],
    "single": [0.0, -0.0, 0.5, math.nan, -3.5],
    "double": [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf],
    "price": [Decimal("1.00"), Decimal("0.00"), Decimal("-1.23"), Decimal("1.005")],
    "huge": [Decimal(10**28), Decimal("7.000000"), Decimal("7.5")],
    "name": ["", "ab", "ä", "zz", "\U0001f600"],
    "message": ["timeout", "timeout error", ""],
    "blob": [b"", b"\x00", b"\x01\x02"],
    "day": [DAY, DAY - dt.timedelta(days=2), dt.date(1500, 1, 1), dt.date(9999, 12, 31)],
    "at": [INSTANT, INSTANT + dt.timedelta(microseconds=1), dt.datetime(1, 1, 1, tzinfo=dt.UTC)],
    "local": [EPOCH, EPOCH + dt.timedelta(seconds=1, microseconds=1)],
    "span": [dt.timedelta(microseconds=-1), dt.timedelta(0)],
}


def literal(value: Any) -> Any:
    """A value in the JSON for the engine."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dt.datetime():
            epoch = EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=dt.UTC)
            return (value - epoch) // dt.timedelta(microseconds=1)
        case dt.date():
            return (value - dt.date(1970, 1, 1)).days
        case dt.timedelta():
            return value // dt.timedelta(microseconds=1)
    return value


def key(value: Any) -> Any:
    """A sort key in Spark's order: strings by bytes, equal zeros, NaN last."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return value.encode()
    return value


@pytest.fixture(scope="module", params=LAYOUTS)
def data(request, tmp_path_factory):
    rows = some_rows(1500)
    split = open_rows(tmp_path_factory.mktemp("split"), rows, layout=request.param)
    return rows, split


def found(split: Any, query: dict[str, Any]) -> list[int]:
    docs = split.table(query, DOC)["_doc"].to_pylist()
    assert split.count(query) == len(docs)
    return docs


def expected(rows: pa.Table, column: str, holds: Callable[[Any], bool]) -> list[int]:
    values = rows[column].to_pylist()
    return [at for at, value in enumerate(values) if value is not None and holds(value)]


@pytest.mark.parametrize("column", LITERALS)
def test_equality_is_exact(data, column):
    rows, split = data
    for value in LITERALS[column]:
        query = {"type": "term", "field": column, "value": literal(value)}
        assert found(split, query) == expected(rows, column, lambda v, w=value: key(v) == key(w))


@pytest.mark.parametrize("column", LITERALS)
def test_sets_are_exact(data, column):
    rows, split = data
    wanted = LITERALS[column]
    keys = [key(value) for value in wanted]
    query = {"type": "set", "field": column, "values": [literal(v) for v in wanted]}
    assert found(split, query) == expected(rows, column, lambda v: key(v) in keys)
    many = {**query, "values": query["values"] * 40}
    assert found(split, many) == expected(rows, column, lambda v: key(v) in keys)


@pytest.mark.parametrize("column", LITERALS)
@pytest.mark.parametrize("inclusive", [True, False])
def test_ranges_are_exact(data, column, inclusive):
    rows, split = data

    def above(value: Any, end: Any) -> bool:
        return key(value) > key(end) or (inclusive and key(value) == key(end))

    def below(value: Any, end: Any) -> bool:
        return key(value) < key(end) or (inclusive and key(value) == key(end))

    for end in LITERALS[column]:
        bound = {"value": literal(end), "inclusive": inclusive}
        lower = {"type": "range", "field": column, "lower": bound, "upper": None}
        assert found(split, lower) == expected(rows, column, lambda v, e=end: above(v, e)), end
        upper = {"type": "range", "field": column, "lower": None, "upper": bound}
        assert found(split, upper) == expected(rows, column, lambda v, e=end: below(v, e)), end
        for other in LITERALS[column]:
            both = {**lower, "upper": {"value": literal(other), "inclusive": inclusive}}
            want = expected(rows, column, lambda v, e=end, o=other: above(v, e) and below(v, o))
            assert found(split, both) == want, (end, other)
    assert found(split, {"type": "range", "field": column}) == expected(
        rows, column, lambda _: True
    )


@pytest.mark.parametrize("column", [*LITERALS, "address", "person", "tags", "scores"])
def test_existence_is_being_not_null(data, column):
    rows, split = data
    query = {"type": "exists", "field": column}
    want = expected(rows, column, lambda _: True)
    assert found(split, query) == want
    rest = [at for at in range(len(rows)) if at not in set(want)]
    assert found(split, {"type": "not", "arg": query}) == rest


@pytest.mark.parametrize("column", ["name", "message"])
@pytest.mark.parametrize("text", ["", "a", "ab", "ä", "%", "e", "timeout", "\U0001f600", "x_"])
def test_patterns_are_about_whole_values(data, column, text):
    rows, split = data
    for kind, holds in {
        "prefix": lambda v: v.startswith(text),
        "suffix": lambda v: v.endswith(text),
        "contains": lambda v: text in v,
    }.items():
        query = {"type": kind, "field": column, "value": text}
        assert found(split, query) == expected(rows, column, holds), kind
    query = {"type": "regex", "field": column, "pattern": f"^.?{re.escape(text)}"}
    assert found(split, query) == expected(
        rows, column, lambda v: re.search(f"^.?{re.escape(text)}", v) is not None
    )


@pytest.mark.parametrize("pattern", ["a%", "%b%", "_", "b\\%c", "%c", "a_c", "", "%%", "x\\_y"])
def test_like_follows_sql(data, pattern):
    rows, split = data
    parts = re.findall(r"\\.|.", pattern)
    regex = "".join(".*" if p == "%" else "." if p == "_" else re.escape(p[-1]) for p in parts)
    query = {"type": "like", "field": "name", "pattern": pattern, "escape": "\\"}
    assert found(split, query) == expected(
        rows, "name", lambda v: re.fullmatch(regex, v, re.DOTALL) is not None
    )


def test_sets_of_rows_combine(data):
    rows, split = data
    a = {"type": "term", "field": "flag", "value": True}
    b = {"type": "prefix", "field": "name", "value": "a"}
    ones, twos = set(found(split, a)), set(found(split, b))
    assert found(split, {"type": "and", "args": [a, b]}) == sorted(ones & twos)
    assert found(split, {"type": "or", "args": [a, b]}) == sorted(ones | twos)
    neither = {"type": "not", "arg": {"type": "or", "args": [a, b]}}
    assert found(split, neither) == sorted(set(range(len(rows))) - ones - twos)
    both = {"type": "and", "args": [{"type": "not", "arg": a}, {"type": "not", "arg": b}]}
    assert found(split, both) == found(split, neither)
    assert found(split, {"type": "and", "args": []}) == list(range(len(rows)))
    assert found(split, {"type": "or", "args": []}) == []
    assert found(split, {"type": "none"}) == []


def test_paths_reach_into_nested_columns(data):
    rows, split = data
    ages = {"type": "range", "field": "person.age", "lower": {"value": 2, "inclusive": True}}
    assert found(split, ages) == expected(rows, "person", lambda v: (v["age"] or 0) >= 2)
    ann = {"type": "term", "field": "person.name", "value": "ann"}
    assert found(split, ann) == expected(rows, "person", lambda v: v["name"] == "ann")
    day = {"type": "term", "field": "person.at", "value": literal(DAY)}
    assert found(split, day) == expected(rows, "person", lambda v: v["at"] == DAY)
    named = {"type": "exists", "field": "person.name"}
    assert found(split, named) == expected(rows, "person", lambda v: v["name"] is not None)
    tagged = {"type": "term", "field": "tags", "value": "x"}
    assert found(split, tagged) == expected(rows, "tags", lambda v: "x" in v)
    scored = {"type": "term", "field": "scores.a", "value": 1.0}
    assert found(split, scored) == expected(rows, "scores", lambda v: dict(v).get("a") == 1.0)
    assert found(split, {"type": "term", "field": "person.nothing", "value": 1}) == []


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("10.0.0.1", {"10.0.0.1"}),
        ("10.0.0.0/8", {"10.0.0.1", "10.1.2.3"}),
        ("10.1.*.*", {"10.1.2.3"}),
        ("::/112", {"::1"}),
        ("nonsense", set()),
    ],
)
def test_addresses_match_networks(data, text, addresses):
    rows, split = data
    query = {"type": "term", "field": "address", "value": text}
    assert found(split, query) == expected(rows, "address", lambda v: v in addresses)


def words(text: str) -> list[str]:
    return text.split()


SEARCHES: list[tuple[str, Callable[[str], bool]]] = [
    ("timeout", lambda v: "timeout" in words(v)),
    ("TimeOut", lambda v: "timeout" in words(v)),
    ("timeout error", lambda v: {"timeout", "error"} <= set(words(v))),
    ("timeout OR reset", lambda v: bool({"timeout", "reset"} & set(words(v)))),
    ("timeout AND NOT error", lambda v: "timeout" in words(v) and "error" not in words(v)),
    ("+timeout -error", lambda v: "timeout" in words(v) and "error" not in words(v)),
    ('"connection reset"', lambda v: "connection reset" in " ".join(words(v))),
    ("connection-reset", lambda v: "connection reset" in " ".join(words(v))),
    ('"reset conn"*', lambda v: "reset connection" in " ".join(words(v))),
    ("'reset connection'", lambda v: {"connection", "reset"} <= set(words(v))),
    ("time*", lambda v: "timeout" in words(v)),
    ("*ut", lambda v: "timeout" in words(v)),
    ("t?meout", lambda v: "timeout" in words(v)),
    ("/err.r|peer/", lambda v: bool({"error", "peer"} & set(words(v)))),
    ("timeoot~1", lambda v: "timeout" in words(v)),
    ("message:(user OR login)", lambda v: bool({"user", "login"} & set(words(v)))),
    ("message: IN [user peer]", lambda v: bool({"user", "peer"} & set(words(v)))),
    ("user^2.0", lambda v: "user" in words(v)),
    ("nosuchword", lambda _: False),
    ("message:*", lambda _: True),
]


@pytest.mark.parametrize(("text", "holds"), SEARCHES, ids=[text for text, _ in SEARCHES])
def test_searches_find_words(data, text, holds):
    rows, split = data
    query = {"type": "search", "query": text, "fields": ["message"]}
    assert found(split, query) == expected(rows, "message", holds)


@pytest.mark.parametrize(
    ("text", "column", "holds"),
    [
        ("number:3", "number", lambda v: v == 3),
        ("number:[3 TO 5}", "number", lambda v: 3 <= v < 5),
        ("number:>=5", "number", lambda v: v >= 5),
        ("price:1.00", "price", lambda v: v == 1),
        ("double:>0", "double", lambda v: v > 0 or math.isnan(v)),
        ("name:ab", "name", lambda v: v == "ab"),
        ("name:a*", "name", lambda v: v.startswith("a")),
        ("name:[a TO b]", "name", lambda v: "a" <= v <= "b"),
        ("flag:true", "flag", lambda v: v),
        ("day:2024-01-01", "day", lambda v: v == DAY),
        ("day:[2024-01-01 TO *]", "day", lambda v: v >= DAY),
        ("at:2024-01-01", "at", lambda v: v.date() == DAY),
        ("at:2024-01-01T00:00:00.000001Z", "at", lambda v: v.microsecond == 1),
        ("address:10.0.0.0/8", "address", lambda v: v.startswith("10.")),
        ("person.name:ann", "person", lambda v: v["name"] == "ann"),
        ("person.age:>1", "person", lambda v: (v["age"] or 0) > 1),
        ("tags:x", "tags", lambda v: "x" in v),
    ],
)
def test_searches_ask_typed_fields(data, text, column, holds):
    rows, split = data
    query = {"type": "search", "query": text, "fields": []}
    assert found(split, query) == expected(rows, column, holds)


def test_a_word_is_looked_up_in_all_fields_of_its_mode(data):
    rows, split = data
    both = [
        at
        for at, (name, message) in enumerate(
            zip(rows["name"].to_pylist(), rows["message"].to_pylist(), strict=True)
        )
        if name == "abc" or (message and "abc" in message.split())
    ]
    assert NAMES.count("abc") == 1
    assert found(split, {"type": "search", "query": "abc", "fields": []}) == both
    text = {"type": "search", "query": "abc", "fields": [], "mode": "text"}
    assert found(split, text) == []
