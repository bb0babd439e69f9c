"""Aggregates equal what plain Python computes, whatever the column, query and deletions."""

from __future__ import annotations

import datetime as dt
import math
import signal
from collections import defaultdict
from decimal import localcontext
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from indextables.engine.split import Split
from indextables.errors import IndexTablesError
from rows import LAYOUTS, SCHEMA, open_again, some_rows, write_split

ORDERED = [name for name in SCHEMA.names if name not in ("address", "person", "tags", "scores")]
NUMERIC = ["tiny", "small", "number", "single", "double", "price", "huge"]
QUERIES = [None, {"type": "term", "field": "flag", "value": True}, {"type": "none"}]


def key(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return value.encode()
    return value


def plain(value: Any) -> Any:
    """Make a value comparable: all zeros are equal, and all NaNs."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


@pytest.fixture(scope="module", params=LAYOUTS)
def data(request, tmp_path_factory):
    rows = some_rows(3000)
    folder = tmp_path_factory.mktemp("split")
    store, path = write_split(folder, rows, layout=request.param)
    gone = BitMap(range(0, 3000, 7))
    split = open_again(folder, store, path, SCHEMA)
    cut = open_again(folder, store, path, SCHEMA, gone.serialize())
    return rows.to_pylist(), split, cut, gone


def selected(data: Any, query: Any, deleted: bool) -> tuple[list[dict[str, Any]], Split]:
    rows, split, cut, gone = data
    kept = [row for at, row in enumerate(rows) if not deleted or at not in gone]
    if query == {"type": "none"}:
        kept = []
    elif query:
        kept = [row for row in kept if row["flag"]]
    return kept, cut if deleted else split


def sum_type(name: str) -> pa.DataType:
    kind = SCHEMA.field(name).type
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(38, kind.precision + 10), kind.scale)
    return pa.float64() if pa.types.is_floating(kind) else pa.int64()


def functions(names: list[str]) -> tuple[list[dict[str, str]], list[pa.Field]]:
    requested: list[dict[str, str]] = [{"op": "count_star"}]
    fields = [pa.field("rows", pa.int64())]
    for name in names:
        requested.append({"op": "count", "field": name})
        fields.append(pa.field(f"count_{name}", pa.int64()))
        for op in ("min", "max"):
            requested.append({"op": op, "field": name})
            fields.append(pa.field(f"{op}_{name}", SCHEMA.field(name).type))
        if name in NUMERIC:
            requested.append({"op": "sum", "field": name})
            fields.append(pa.field(f"sum_{name}", sum_type(name)))
    return requested, fields


def expected(rows: list[dict[str, Any]], names: list[str]) -> list[Any]:
    out: list[Any] = [len(rows)]
    for name in names:
        values = [row[name] for row in rows if row[name] is not None]
        out.append(len(values))
        out.append(min(values, key=key, default=None))
        out.append(max(values, key=key, default=None))
        if name in NUMERIC:
            with localcontext(prec=60):
                out.append(sum(values) if values else None)
    return out


def close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float) and math.isfinite(left):
        return math.isclose(left, right, rel_tol=1e-9)
    return plain(left) == plain(right)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("deleted", [False, True])
def test_totals_are_exact_for_every_type(data, query, deleted):
    rows, split = selected(data, query, deleted)
    requested, fields = functions(ORDERED)
    found = split.aggregate(query, {"functions": requested}, pa.schema(fields))
    assert len(found) == 1
    row = list(found.to_pylist()[0].values())
    for field, left, right in zip(fields, row, expected(rows, ORDERED), strict=True):
        assert close(left, right), (field.name, left, right)


@pytest.mark.parametrize(
    "keys",
    [
        *([name] for name in ORDERED),
        ["name", "flag"],
        ["flag", "number", "name"],
        ["double", "day", "message"],
        ["address"],
    ],
    ids=",".join,
)
@pytest.mark.parametrize("deleted", [False, True])
def test_groups_are_exact_for_every_type(data, keys, deleted):
    rows, split = selected(data, None, deleted)
    requested, fields = functions(["number", "name", "price"])
    request = {"group_by": [{"field": name} for name in keys], "functions": requested}
    schema = pa.schema([*(SCHEMA.field(name) for name in keys), *fields])
    found = split.aggregate(None, request, schema)
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(plain(row[name]) for name in keys)].append(row)
    assert len(found) == len(groups)
    columns = [column.to_pylist() for column in found.columns]
    for values in zip(*columns, strict=True):
        group = groups[tuple(plain(value) for value in values[: len(keys)])]
        want = expected(group, ["number", "name", "price"])
        assert all(map(close, values[len(keys) :], want)), values


def test_a_sum_keeps_every_digit_and_says_when_it_cannot(tmp_path):
    rows = pa.table({"n": pa.array([2**62, 2**62 - 1, 5], pa.int64())})
    store, path = write_split(tmp_path, rows)
    split = Split(store, path, schema=rows.schema)
    schema = pa.schema([("s", pa.int64())])
    request = {"functions": [{"op": "sum", "field": "n"}]}
    two = {"type": "range", "field": "n", "lower": {"value": 6, "inclusive": True}}
    assert split.aggregate(two, request, schema)["s"].to_pylist() == [2**63 - 1]
    assert split.aggregate(None, request, schema)["s"].to_pylist() == [-(2**63) + 4]
    with pytest.raises(IndexTablesError) as caught:
        split.aggregate(None, {**request, "ansi": True}, schema)
    assert caught.value.code == "ARITHMETIC_OVERFLOW"


def test_buckets_have_their_begin_as_key(data):
    rows, split = selected(data, None, deleted=False)

    def counts(key: dict[str, Any], kind: pa.DataType) -> dict[Any, int]:
        schema = pa.schema([("k", kind), ("n", pa.int64())])
        request = {"group_by": [key], "functions": [{"op": "count_star"}]}
        found = split.aggregate(None, request, schema)
        return dict(zip(found["k"].to_pylist(), found["n"].to_pylist(), strict=True))

    def tally(values: Any) -> dict[Any, int]:
        out: dict[Any, int] = defaultdict(int)
        for value in values:
            out[value] += 1
        return dict(out)

    prices = [None if row["price"] is None else float(row["price"]) for row in rows]
    histogram = {"histogram": {"field": "price", "interval": 2.0, "offset": 0.5}}
    assert counts(histogram, pa.float64()) == tally(
        None if p is None else math.floor((p - 0.5) / 2) * 2 + 0.5 for p in prices
    )
    days = [row["day"] for row in rows if row["day"] is not None]
    weekly = {"date_trunc": {"field": "day", "unit": "week"}}
    weeks = tally(d - dt.timedelta(days=d.weekday()) for d in days)
    nulls = sum(row["day"] is None for row in rows)
    assert counts(weekly, pa.date32()) == {**weeks, None: nulls}
    two_days = {"date_histogram": {"field": "day", "interval_us": 2 * 86_400_000_000}}
    epoch = dt.date(1970, 1, 1)
    starts = tally(d - dt.timedelta(days=(d - epoch).days % 2) for d in days)
    found = counts(two_days, pa.timestamp("us"))
    assert {value and value.date(): n for value, n in found.items()} == {**starts, None: nulls}
    halves = {"date_histogram": {"field": "day", "interval_months": 6}}
    begins = tally(dt.date(d.year, 1 if d.month <= 6 else 7, 1) for d in days)
    found = counts(halves, pa.date32())
    assert found == {**begins, None: nulls}
    ranges = [
        {"name": "low", "to": 3},
        {"name": "middle", "from": 3, "to": 10},
        {"name": "high", "from": 12, "to": 20},
        {"name": "high", "from": 20},
    ]
    named = tally(
        None if n is None or 10 <= n < 12 else "low" if n < 3 else "middle" if n < 10 else "high"
        for n in (row["number"] for row in rows)
    )
    assert counts({"range": {"field": "number", "ranges": ranges}}, pa.string()) == named
    letters = [{"name": "a", "from": "a", "to": "b"}]
    found = counts({"range": {"field": "name", "ranges": letters}}, pa.string())
    assert found == tally("a" if row["name"] and "a" <= row["name"] < "b" else None for row in rows)


def test_groups_of_other_writers_merge_over_their_segments(fixtures):
    import pyarrow.parquet as pq

    from indextables.engine.store import open_store

    folder = fixtures / "indextables-0.5.3" / "logs_small"
    expected_rows = pq.read_table(folder / "expected.parquet")
    table = folder / "table"
    totals: dict[Any, int] = defaultdict(int)
    schema = pa.schema([expected_rows.schema.field("level"), ("n", pa.int64())])
    request = {"group_by": [{"field": "level"}], "functions": [{"op": "count_star"}]}
    for path in table.rglob("*.split"):
        store = open_store(str(table))
        split = Split(store, str(path.relative_to(table)), schema=expected_rows.schema)
        found = split.aggregate(None, request, schema)
        assert len(found) == len(set(found["level"].to_pylist()))
        for row in found.to_pylist():
            totals[row["level"]] += row["n"]
    want: dict[Any, int] = defaultdict(int)
    for level in expected_rows["level"].to_pylist():
        want[level] += 1
    assert totals == want


def test_a_long_aggregation_stops_when_a_signal_raises(tmp_path):
    class StopError(Exception):
        pass

    def stop(*_):
        raise StopError

    count = 400_000
    rows = pa.table({"key": pa.array(range(count)), "value": pa.array([2**62] * count)})
    rows = pa.concat_tables([rows, rows.slice(0, 1), rows.slice(0, 1)])
    store, path = write_split(tmp_path, rows)
    split = open_again(tmp_path, store, path, rows.schema)
    functions = [{"op": op, "field": "value"} for op in ("sum", "min", "max", "count")]
    request = {"group_by": [{"field": "key"}], "functions": functions, "ansi": True}
    schema = pa.schema([(name, pa.int64()) for name in ("key", "s", "lo", "hi", "n")])
    # the call itself must raise the signal's exception, not the interpreter after it
    with pytest.raises(IndexTablesError, match="ARITHMETIC_OVERFLOW"):
        split.aggregate(None, request, schema)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        with pytest.raises(StopError):
            split.aggregate(None, request, schema)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
