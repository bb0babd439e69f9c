"""`indextables.write` writes Arrow tables without Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import indextables
from indextables.errors import (
    InvalidError,
    SchemaMismatchError,
    TableExistsError,
    UnsupportedError,
)


def ids(path: str) -> list[int]:
    return sorted(indextables.open(path).scan(["id"])["id"].to_pylist())


def rows(*values: int) -> pa.Table:
    return pa.table({"id": list(values), "name": [f"n{v}" for v in values]})


def test_modes(table_path):
    indextables.write(rows(1, 2), table_path)
    indextables.write(rows(3), table_path)
    assert ids(table_path) == [1, 2, 3]
    assert indextables.write(rows(9), table_path, mode="ignore").version == 2
    with pytest.raises(TableExistsError):
        indextables.write(rows(9), table_path, mode="errorifexists")
    assert indextables.write(rows(4), table_path, mode="overwrite").num_rows == 1
    assert ids(table_path) == [4]
    with pytest.raises(InvalidError, match="SAVE_MODE"):
        indextables.write(rows(9), table_path, mode="upsert")


@pytest.mark.parametrize("partition_by", [[], ["name"]])
def test_replace_where_replaces_the_rows_of_the_condition(table_path, partition_by):
    indextables.write(rows(1, 2, 3, 4), table_path, partition_by=partition_by)
    where = {"replaceWhere": "name = 'n2'" if partition_by else "id = 2 OR name = 'n2'"}
    twice = pa.table({"id": [2, 2], "name": ["n2", "n2"]})
    indextables.write(twice, table_path, mode="overwrite", options=where)
    assert ids(table_path) == [1, 2, 2, 3, 4]
    files = sorted(Path(table_path).rglob("*.split"))
    with pytest.raises(InvalidError, match="OVERWRITE_OUTSIDE"):
        indextables.write(rows(2, 9), table_path, mode="overwrite", options=where)
    assert ids(table_path) == [1, 2, 2, 3, 4]
    assert sorted(Path(table_path).rglob("*.split")) == files


def test_columns_fit_the_table(table_path):
    indextables.write(rows(1), table_path)
    indextables.write(pa.table({"ID": [2]}), table_path)
    found = indextables.open(table_path).scan(where="id = 2").to_pylist()
    assert found == [{"id": 2, "name": None}]
    with pytest.raises(SchemaMismatchError):
        indextables.write(pa.table({"id": [3], "more": [1]}), table_path)


def test_partitions(table_path):
    data = pa.table({"id": [3, 1, 2], "kind": ["b", "a", "b"]})
    table = indextables.write(data, table_path, partition_by=["kind"])
    assert (table.num_files, table.partition_columns) == (2, ("kind",))
    assert sorted(table.scan(["id"], where="kind = 'b'")["id"].to_pylist()) == [2, 3]


def test_types_come_back(table_path):
    data = pa.table(
        {
            "wide": pa.array(["x", None], pa.large_string()),
            "coded": pa.array(["a", "b"]).dictionary_encode(),
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "day": pa.array([dt.date(2026, 1, 1), None]),
            "at": pa.array(
                [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None], pa.timestamp("ms", "UTC")
            ),
            "tags": pa.array([["p", None], []], pa.list_(pa.string())),
            "inner": pa.array([{"a": 1, "b": "z"}, None]),
            "pairs": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    found = indextables.write(data, table_path).scan(data.column_names)
    assert found.to_pylist() == data.to_pylist()


def test_a_type_without_a_place_is_refused(table_path):
    with pytest.raises(NotImplementedError, match="column `t`"):
        indextables.write(pa.table({"t": pa.array([1], pa.time64("us"))}), table_path)


def test_rows_with_a_known_key_are_replaced(table_path):
    indextables.write(rows(1, 2), table_path, options={"primary-key": "id"})
    again = pa.table({"id": [2, 3], "name": ["new", "three"]})
    indextables.write(again, table_path)
    found = indextables.open(table_path).scan(["id", "name"]).sort_by("id").to_pylist()
    assert [row["name"] for row in found] == ["n1", "new", "three"]


def test_splits_end_after_the_rows_that_fill_them_when_the_table_tells(table_path):
    first = indextables.write(rows(*range(100)), table_path)
    chunks = pa.concat_tables([rows(*range(start, start + 10)) for start in range(100, 350, 10)])
    balanced = {
        "write.optimizeWrite.enabled": "true",
        "write.optimizeWrite.distributionMode": "balanced",
        "write.optimizeWrite.minRowsForEstimation": "100",
        "write.optimizeWrite.maxSplitSize": str(first.size_bytes),
    }
    table = indextables.write(chunks, table_path, options=balanced)
    assert sorted(table.files()["numRecords"].to_pylist()) == [50, 100, 100, 100]


@pytest.mark.parametrize("layout", ["compatible", "lean"])
@pytest.mark.parametrize("kind", [pa.int32(), pa.float32(), pa.float64()], ids=str)
def test_columns_that_are_not_fast_are_compared(table_path, layout, kind):
    data = pa.table({"id": [1, 2, 3, 4], "n": pa.array([1, 7, 3, None], kind)})
    options = {"indexing.nonfastfields": "n", "indexing.layout": layout}
    table = indextables.write(data, table_path, options=options)
    assert table.scan(["id"], where="n = 7")["id"].to_pylist() == [2]
    assert table.scan(["id"], where="n > 1")["id"].to_pylist() == [2, 3]


@pytest.mark.parametrize("layout", ["compatible", "lean"])
@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
def test_merging_schemas_widens_types(table_path, layout, fast):
    old = {
        "i": pa.array([-1, 7], pa.int32()),
        "c": pa.array([Decimal("1.25"), Decimal("-2.50")], pa.decimal128(5, 2)),
        "d": pa.array([dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    }
    new = {
        "i": pa.array([0.5, 7], pa.float64()),
        "c": pa.array([Decimal("0.0001"), Decimal("1.25")], pa.decimal128(30, 4)),
        "d": pa.array([dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 1)], pa.timestamp("us")),  # noqa: DTZ001
    }
    options = {"indexing.layout": layout} | ({} if fast else {"indexing.nonfastfields": "i,c,d"})
    indextables.write(pa.table({"id": [1, 2], **old}), table_path, options=options)
    merged = pa.table({"id": [3, 4], **new})
    table = indextables.write(merged, table_path, options={"mergeSchema": "true"})
    for where, expected in {
        "i = 7": [2, 4],
        "i < 0.75": [1, 3],
        "c = 1.25": [1, 4],
        "c < 0.0002": [2, 3],
        "d = '2024-02-29 00:00:00'": [2, 3],
        "d > '1969-12-31 00:00:00'": [2, 3, 4],
        "d < '1970-01-01 12:00:00'": [1],
    }.items():
        assert sorted(table.scan(["id"], where=where)["id"].to_pylist()) == expected, where
    read = table.scan(["id", "i", "d"]).sort_by("id").to_pydict()
    assert read["i"] == [-1.0, 7.0, 0.5, 7.0]
    assert read["d"][0] == dt.datetime(1969, 12, 31)  # noqa: DTZ001


def test_types_that_tables_do_not_have_become_wider_ones(table_path):
    """The same types as when Spark reads them from Parquet."""
    given = pa.table(
        {
            "u8": pa.array([255, None], pa.uint8()),
            "u16": pa.array([65535, None], pa.uint16()),
            "u32": pa.array([2**32 - 1, None], pa.uint32()),
            "u64": pa.array([2**64 - 1, None], pa.uint64()),
            "half": pa.array([1.5, None], pa.float16()),
            "day": pa.array([dt.date(2026, 1, 1), None], pa.date64()),
            "two": pa.array([b"ab", None], pa.binary(2)),
            "pair": pa.array([[1, None], None], pa.list_(pa.uint8(), 2)),
            "inner": pa.array([{"n": [7]}, None], pa.struct({"n": pa.list_(pa.uint32())})),
        }
    )
    for _ in range(2):
        indextables.write(given, table_path)
    found = indextables.open(table_path)
    assert [str(f.type) for f in found.schema][:4] == [
        "int16",
        "int32",
        "int64",
        "decimal128(20, 0)",
    ]
    first = given.slice(0, 1).to_pylist()[0] | {"u64": Decimal(2**64 - 1)}
    seen = found.scan().to_pylist()
    assert seen.count(first) == 2
    assert seen.count(dict.fromkeys(given.column_names)) == 2
    assert found.count("u32 = 4294967295 AND u8 > 254") == 2


def test_data_is_whatever_arrow_makes_a_table_of(table_path):
    indextables.write({"id": [1, 2], "name": ["a", "b"]}, table_path)
    indextables.write(rows(3).to_reader(), table_path)
    indextables.write(rows(4).to_pandas(), table_path)
    assert ids(table_path) == [1, 2, 3, 4]


def test_values_that_do_not_fit_name_their_column(table_path):
    with pytest.raises(InvalidError, match=r"DATA_BAD_VALUE.*`at`"):
        indextables.write(pa.table({"at": pa.array([1], pa.timestamp("ns"))}), table_path)
    indextables.write(rows(1), table_path)
    with pytest.raises(InvalidError, match=r"DATA_BAD_VALUE.*`id`"):
        indextables.update(table_path, {"id": "one"})
    big = pa.table({"id": [1], "d": pa.array([1], pa.int64()).cast(pa.decimal256(40, 2))})
    with pytest.raises(UnsupportedError, match=r"SCHEMA_UNSUPPORTED_TYPE.*`d`"):
        indextables.write(big, table_path, options={"mergeSchema": "true"})


def test_public_names_are_listed():
    assert set(dir(indextables)) == set(indextables.__all__)


def test_only_what_reads_no_row_is_a_blind_append(table_path):
    nothing = {"replaceWhere": "day = '2030-01-01'"}
    days = pa.table({"id": [1], "day": ["2030-01-01"]})
    indextables.write(days.slice(1), table_path, partition_by=["day"])
    indextables.write(days, table_path, mode="overwrite", options=nothing)
    indextables.write(days, table_path)
    indextables.write(days.slice(1), table_path, mode="overwrite")
    indextables.write(days, table_path, mode="overwrite")
    history = indextables.open(table_path).history()
    blind = [(entry["operation"], entry["is_blind_append"]) for entry in reversed(history)]
    assert blind == [
        ("CREATE TABLE", True),
        ("APPEND", True),
        ("REPLACE WHERE", False),
        ("APPEND", True),
        ("OVERWRITE", False),
        ("OVERWRITE", False),
    ]


def test_a_partitioned_table_may_begin_without_rows(table_path):
    schema = pa.schema([("id", pa.int64()), ("day", pa.string())])
    table = indextables.write(schema.empty_table(), table_path, partition_by=["day"])
    assert (table.num_rows, table.partition_columns) == (0, ("day",))
