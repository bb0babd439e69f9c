"""`indextables.open`: counts, aggregates, orders and buckets, compared with plain pyarrow."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import indextables
from indextables.errors import IndexTablesError
from indextables.log.manifests import ManifestReader
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

ROWS = 600
WORDS = ("timeout", "payment", "cart", "opened", "refused")


def make_rows() -> pa.Table:
    chosen = random.Random(7)
    start = dt.datetime(2026, 1, 30, tzinfo=dt.UTC)
    rows = [
        {
            "id": i,
            "level": chosen.choice(["INFO", "WARN", "ERROR", None]),
            "service": chosen.choice(["web", "db", None]),
            "n": chosen.choice([None, *range(-50, 50)]),
            "amount": chosen.choice([None, 0.25, -1.5, 7.0, 1e6]),
            "ts": start + dt.timedelta(minutes=chosen.randrange(60 * 24 * 40)),
            "day": start.date() + dt.timedelta(days=chosen.randrange(60)),
            "message": " ".join(chosen.choices(WORDS, k=4)),
        }
        for i in range(ROWS)
    ]
    schema = pa.schema(
        [("id", pa.int64()), ("level", pa.string()), ("service", pa.string()), ("n", pa.int32()),
         ("amount", pa.float64()), ("ts", pa.timestamp("us", "UTC")), ("day", pa.date32()),
         ("message", pa.string())]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return make_rows()


@pytest.fixture(scope="module")
def table(rows: pa.Table, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("ask") / "table")
    options = {"indexing.typemap.message": "text"}
    for half in (rows.slice(0, ROWS // 2), rows.slice(ROWS // 2)):
        indextables.write(half, path, partition_by=["level"], options=options)
    return indextables.open(path)


def groups_of(rows: pa.Table, key) -> dict:
    """Group the rows in plain Python."""
    found: dict = {}
    for row in rows.to_pylist():
        found.setdefault(key(row), []).append(row)
    return found


def values(rows: list[dict], name: str) -> list:
    return [row[name] for row in rows if row[name] is not None]


def by_key(found: pa.Table, keys: list[str]) -> dict:
    return {tuple(row.pop(key) for key in keys): row for row in found.to_pylist()}


def test_rows_are_counted(table, rows):
    assert table.count() == ROWS
    errors = rows.filter(pc.field("level") == "ERROR")
    assert table.count("level = 'ERROR'") == errors.num_rows
    above = rows.filter((pc.field("n") > 10) | pc.field("n").is_null())
    assert table.count("n > 10 OR n IS NULL") == above.num_rows
    timeouts = [text for text in errors["message"].to_pylist() if "timeout" in text.split()]
    assert table.count("level = 'ERROR'", "message:timeout") == len(timeouts)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("message indexquery 'timeout'", lambda r, words: "timeout" in words),
        ("message TextSearch 'timeout' AND n > 10", lambda r, w: "timeout" in w and more(r, 10)),
        ("n > 45 OR message indexquery 'timeout'", lambda r, w: "timeout" in w or more(r, 45)),
        ("NOT message indexquery 'timeout'", lambda r, words: "timeout" not in words),
        ("service fieldmatch 'db'", lambda r, words: r["service"] == "db"),
        ("indexqueryall('message:timeout')", lambda r, words: "timeout" in words),
        ("ts < '2026-02-05' AND ts indexquery 'ts:[* TO now+9000d]'", lambda r, w: early(r)),
    ],
)
def test_conditions_search_columns(table, rows, where, expected):
    wanted = [r["id"] for r in rows.to_pylist() if expected(r, r["message"].split())]
    assert 0 < len(wanted) < ROWS
    for _ in range(2):
        assert table.count(where) == len(wanted)
        assert sorted(table.scan(["id"], where)["id"].to_pylist()) == wanted


def more(row: dict, least: int) -> bool:
    return row["n"] is not None and row["n"] > least


def early(row: dict) -> bool:
    return row["ts"] < dt.datetime(2026, 2, 5, tzinfo=dt.UTC)


def test_a_condition_that_is_not_understood_is_shown(table):
    with pytest.raises(IndexTablesError, match=r"CONDITION_INVALID.*condition: nope = 1 \("):
        table.count("nope = 1")


def test_rows_and_partitions_are_counted_from_the_log(table, monkeypatch):
    def never(*_args, **_more):
        raise AssertionError("a split was opened")

    monkeypatch.setattr("indextables.read.rows.split_of", never)
    assert table.count() == ROWS
    found = table.aggregate({"rows": "count(*)"}, by=["level"], where="level <> 'INFO'")
    assert set(found["level"].to_pylist()) == {"WARN", "ERROR"}
    with pytest.raises(AssertionError, match="a split was opened"):
        table.count("n > 1")


@pytest.mark.parametrize("keys", [[], ["level"], ["service"], ["level", "service"], ["n"]])
def test_groups_are_aggregated(table, rows, keys):
    functions = {
        "rows": "count(*)", "some": "count(n)", "total": "sum(n)", "mean": "avg(n)",
        "least": "min(amount)", "latest": "max(ts)", "kinds": "count(distinct service)",
    }  # fmt: skip
    wanted = {
        group: {
            "rows": len(some),
            "some": len(values(some, "n")),
            "total": sum(values(some, "n")) if values(some, "n") else None,
            "mean": sum(values(some, "n")) / len(values(some, "n")) if values(some, "n") else None,
            "least": min(values(some, "amount"), default=None),
            "latest": max(values(some, "ts"), default=None),
            "kinds": len({*values(some, "service")}),
        }
        for group, some in groups_of(rows, lambda row: tuple(row[key] for key in keys)).items()
    }
    found = table.aggregate(functions, by=keys)
    assert found.column_names == [*keys, *functions]
    assert by_key(found, keys) == wanted


def test_an_aggregate_of_no_rows_has_one_row(table):
    found = table.aggregate(["count(*)", "sum(n)"], where="id < 0")
    assert found.to_pylist() == [{"count(*)": 0, "sum(n)": None}]


def month(when: dt.datetime) -> dt.datetime:
    return dt.datetime(when.year, when.month, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("key", "bucket"),
    [
        ("indextables_histogram(n, 10)", lambda r: r["n"] if r["n"] is None else r["n"] // 10 * 10),
        ("indextables_date_histogram(ts, '1M')", lambda r: month(r["ts"])),
        (
            "indextables_date_histogram(ts, '1d')",
            lambda r: r["ts"].replace(hour=0, minute=0),
        ),
        ("date_trunc('hour', ts)", lambda r: r["ts"].replace(minute=0)),
        ("trunc(day, 'MONTH')", lambda r: r["day"].replace(day=1)),
        (
            "indextables_range(n, 'low', NULL, 0, 'high', 0, 40)",
            lambda r: "low" if (r["n"] or 0) < 0 else "high" if (r["n"] or 0) < 40 else None,
        ),
    ],
)
def test_rows_are_grouped_by_buckets(table, rows, key, bucket):
    where, kept = "n IS NOT NULL", rows.filter(pc.field("n").is_valid())
    found = table.aggregate({"rows": "count(*)"}, by={"bucket": key}, where=where)
    wanted = {group: len(some) for group, some in groups_of(kept, bucket).items()}
    assert {row["bucket"]: row["rows"] for row in found.to_pylist()} == wanted


def test_groups_are_put_in_order(table, rows):
    found = table.aggregate(
        {"rows": "count(*)"}, by=["service"], order_by=["rows DESC", "service"], limit=2
    )
    sizes = groups_of(rows, lambda row: row["service"])
    wanted = sorted(sizes, key=lambda service: -len(sizes[service]))[:2]
    assert found["service"].to_pylist() == wanted


@pytest.mark.parametrize("limit", [None, 7, 200_000])
def test_rows_are_put_in_order(table, rows, limit):
    found = table.scan(["id"], order_by=["n DESC NULLS LAST", "id"], limit=limit)
    order = sorted(rows.to_pylist(), key=lambda r: (r["n"] is None, -(r["n"] or 0), r["id"]))
    assert found["id"].to_pylist() == [row["id"] for row in order][:limit]


@pytest.mark.parametrize("fast", [True, False])
def test_a_column_decides_once(table_path, fast):
    rows = pa.table({"n": [2, 1, 3], "m": [0, 0, 0]})
    options = {} if fast else {"indexing.nonfastfields": "n"}
    table = indextables.write(rows, table_path, options=options)
    found = table.scan(["n"], order_by=["n", "m", "n DESC"], limit=2)
    assert found["n"].to_pylist() == [1, 2]


def test_rows_are_skipped(table):
    whole = table.scan(["id"], order_by=["id DESC"], limit=10)
    assert table.scan(["id"], order_by=["id DESC"], limit=4, offset=6) == whole.slice(6)


def test_an_order_may_be_by_a_column_that_is_not_returned(table, rows):
    found = table.scan(["id"], where="level = 'WARN'", order_by=["ts"], limit=3)
    warned = sorted((r for r in rows.to_pylist() if r["level"] == "WARN"), key=lambda r: r["ts"])
    assert found["id"].to_pylist() == [row["id"] for row in warned[:3]]
    assert found.column_names == ["id"]


@pytest.mark.parametrize(
    ("functions", "by", "problem"),
    [
        (["median(n)"], [], "SQL_SYNTAX.*median"),
        (["sum(nope)"], [], "SQL_SYNTAX.*nope"),
        (["sum(message)"], [], "AGGREGATE_UNSUPPORTED"),
        (["count(*)"], ["upper(level)"], "SQL_SYNTAX.*upper"),
    ],
)
def test_what_cannot_be_aggregated_is_said(table, functions, by, problem):
    with pytest.raises(IndexTablesError, match=problem):
        table.aggregate(functions, by=by)


def test_a_sum_that_overflows_is_an_error(table_path):
    indextables.write(pa.table({"n": [2**63 - 1, 1]}), table_path)
    with pytest.raises(IndexTablesError, match="ARITHMETIC_OVERFLOW"):
        indextables.open(table_path).aggregate(["sum(n)"])


@pytest.mark.parametrize("by", [(), ("p",)])
def test_an_average_never_overflows(table_path, by):
    big = pa.table({"id": [1, 2, 3, 4], "p": [2**62, 2**62, 2**62, -8]})
    table = indextables.write(big, table_path, partition_by=by)
    assert table.aggregate(["avg(p)"])["avg(p)"].to_pylist() == [(3 * 2.0**62 - 8) / 4]
    assert table.aggregate(["avg(p)"], where="id < 4")["avg(p)"].to_pylist() == [2.0**62]
    with pytest.raises(IndexTablesError, match=r"ARITHMETIC_OVERFLOW.*`p`"):
        table.aggregate(["sum(p)"])
    assert table.aggregate(["sum(p)"], where="id > 2")["sum(p)"].to_pylist() == [2**62 - 8]


def test_only_manifests_of_wanted_partitions_are_read(table_path, monkeypatch):
    options = {"spark.indextables.state.entriesPerManifest": "1"}
    for part in range(3):
        rows = pa.table({"p": [part], "x": [part]})
        indextables.write(rows, table_path, partition_by=["p"], options=options)
    execute(f"CHECKPOINT INDEXTABLES '{table_path}'", LocalContext(options))
    read = []
    fetch = ManifestReader.read
    monkeypatch.setattr(
        ManifestReader, "read", lambda self, infos: read.append(len(infos)) or fetch(self, infos)
    )
    table = indextables.open(table_path)
    assert table.scan(["x"], where="p = 1").to_pylist() == [{"x": 1}]
    assert read == [1]
    assert table.scan(["x"], where="p < 2").num_rows == 2
    assert read == [1, 2]
