"""Delta tables as sources: files, partition values, deletion vectors, column mapping, versions."""

from __future__ import annotations

import datetime as dt
import shutil
import sys

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyroaring import BitMap
from tests.unit.sources.delta_tables import HandWrittenDelta

from indextables.engine.source import Address
from indextables.errors import IndexTablesError
from indextables.sources.delta import DeltaSource
from indextables.storage import open_store


def delta(location):
    return DeltaSource(open_store(location))


def rows_of(snapshot):
    return snapshot.files.to_pylist()


def test_files_rows_and_versions(tmp_path):
    location = str(tmp_path / "t")
    write_deltalake(location, pa.table({"id": [1, 2], "s": ["a", "b"]}))
    write_deltalake(location, pa.table({"id": [3], "s": ["c"]}), mode="append")
    source = delta(location)
    assert source.look() == source.look()
    assert source.at(source.look()).version == "1"
    newest = source.snapshot()
    assert (newest.version, newest.format, newest.location) == ("1", "delta", location)
    assert sorted(f["rows"] for f in rows_of(newest)) == [1, 2]
    assert all((tmp_path / "t" / f["path"]).stat().st_size == f["size"] for f in rows_of(newest))
    assert newest.schema.names == ["id", "s"]
    assert newest.columns == (Address("id"), Address("s"))
    assert newest.id == DeltaTable(location).metadata().id
    assert newest.deleted == {}
    assert len(rows_of(source.snapshot("0"))) == 1


@pytest.mark.parametrize("versions", [1, 2, 3])
def test_a_table_in_the_place_of_another_has_other_marks(tmp_path, versions):
    """With fewer versions, equally many, or more."""
    location = str(tmp_path / "t")
    source = delta(location)
    before = set()
    for _ in range(2):
        write_deltalake(location, pa.table({"id": [1]}), mode="append")
        before.add(source.look())
    stamp = source.stamp("0")
    shutil.rmtree(location)
    for _ in range(versions):
        write_deltalake(location, pa.table({"id": [2]}), mode="append")
    assert len(before) == 2
    assert source.look() not in before
    assert source.at(source.look()).version == str(versions - 1)
    assert source.stamp("0") != stamp


def test_a_version_whose_commit_was_cleaned_up_is_told_by_the_newest(tmp_path):
    location = str(tmp_path / "t")
    for _ in range(2):
        write_deltalake(location, pa.table({"id": [1]}), mode="append")
    DeltaTable(location).create_checkpoint()
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").unlink()
    source = delta(location)
    assert source.stamp("0") == source.look()
    assert source.stamp("1") in source.look()


def test_overwritten_and_optimized_files_are_not_live(tmp_path):
    location = str(tmp_path / "t")
    for n in range(3):
        write_deltalake(location, pa.table({"id": [n]}), mode="append")
    DeltaTable(location).optimize.compact()
    assert [f["rows"] for f in rows_of(delta(location).snapshot())] == [3]
    write_deltalake(location, pa.table({"id": [9, 9]}), mode="overwrite")
    assert [f["rows"] for f in rows_of(delta(location).snapshot())] == [2]


def test_partition_values_have_the_types_of_the_table(tmp_path):
    location = str(tmp_path / "t")
    timestamp = dt.datetime(2024, 1, 2, 3, 4, 5, 600, tzinfo=dt.UTC)
    write_deltalake(
        location,
        pa.table(
            {
                "id": [1, 2],
                "d": pa.array([dt.date(2024, 1, 2), None], pa.date32()),
                "t": pa.array([timestamp, None], pa.timestamp("us", "UTC")),
                "s": ["a b/%=", ""],
                "n": pa.array([7, None], pa.int32()),
            }
        ),
        partition_by=["d", "t", "s", "n"],
    )
    found = delta(location).snapshot()
    assert found.partition_columns == ("d", "t", "s", "n")
    values = {
        row["path"]: {name: array[i].as_py() for name, array in found.partitions.items()}
        for i, row in enumerate(rows_of(found))
    }
    full = {"d": dt.date(2024, 1, 2), "t": timestamp, "s": "a b/%=", "n": 7}
    # Delta reads an empty string as null
    assert sorted(values.values(), key=str) == sorted([full, dict.fromkeys(full)], key=str)
    assert all((tmp_path / "t" / path).exists() for path in values)
    assert found.columns == (Address("id"),)


def test_deletion_vectors_and_column_mapping(tmp_path):
    mapped = {
        "type": "struct",
        "fields": [
            _mapped("a", "long", 1, "col-a"),
            _mapped("x", "integer", 2, "col-x"),
            {
                **_mapped("n", None, 3, "col-n"),
                "type": {"type": "struct", "fields": [_mapped("m", "string", 4, "col-m")]},
            },
        ],
    }
    table = HandWrittenDelta(
        tmp_path / "t",
        mapped,
        ["x"],
        ["deletionVectors", "columnMapping"],
        {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"},
    )
    size = table.write("x y=1/f%20 1.parquet", pa.table({"col-a": [1, 2, 3, 4]}))
    logged = "x%20y=1/f%2520%201.parquet"
    first = table.add(logged, size, 4, {"col-x": "1"}, deleted=[1, 3])
    table.commit(first)
    source = delta(str(tmp_path / "t"))
    found = source.snapshot()
    (file,) = rows_of(found)
    assert file["path"] == "x y=1/f%20 1.parquet"
    assert found.deleted == {file["path"]: BitMap([1, 3])}
    assert found.partitions["x"].to_pylist() == [1]
    assert found.schema.names == ["a", "x", "n"]
    assert all(not each.metadata for each in found.schema.fields)
    assert found.columns == (
        Address("a", ("col-a",), 1),
        Address("n", ("col-n",), 3, (Address("m", ("col-m",), 4),)),
    )
    # a growing vector is a removal and an addition of the same path
    more = table.add(logged, size, 4, {"col-x": "1"}, deleted=[0, 1, 3])
    table.commit(table.remove(first), more)
    assert source.snapshot().deleted == {file["path"]: BitMap([0, 1, 3])}
    assert source.snapshot("1").deleted == {file["path"]: BitMap([1, 3])}


def test_a_file_that_is_live_twice_is_refused(tmp_path):
    schema = {"type": "struct", "fields": [_mapped("a", "long", 1, "a")]}
    table = HandWrittenDelta(tmp_path / "t", schema, features=["deletionVectors"])
    table.commit(table.add("f", 5, 4, deleted=[1]), table.add("f", 5, 4, deleted=[2]))
    with pytest.raises(IndexTablesError, match="a file twice"):
        delta(str(tmp_path / "t")).snapshot()


def _mapped(name, kind, number, physical):
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def test_a_file_elsewhere_keeps_its_address(tmp_path):
    schema = {"type": "struct", "fields": [_mapped("a", "long", 1, "a")]}
    table = HandWrittenDelta(tmp_path / "clone", schema)
    other = tmp_path / "source" / "a b.parquet"
    table.commit(table.add(f"file:{tmp_path}/source/a%20b.parquet", 5, 1))
    assert rows_of(delta(str(tmp_path / "clone")).snapshot())[0]["path"] == f"file:{other}"


@pytest.mark.parametrize("bad", ["../../etc/passwd", "a/../../b"])
def test_a_path_does_not_leave_the_table(tmp_path, bad):
    schema = {"type": "struct", "fields": [_mapped("a", "long", 1, "a")]}
    table = HandWrittenDelta(tmp_path / "t", schema)
    table.commit(table.add(bad, 5, 1))
    with pytest.raises(IndexTablesError) as failure:
        delta(str(tmp_path / "t")).snapshot()
    assert failure.value.code in ("STORAGE_BAD_PATH", "COMPANION_SOURCE")


def test_what_cannot_be_read_is_said(tmp_path, monkeypatch):
    with pytest.raises(IndexTablesError, match="COMPANION_SOURCE"):
        delta(str(tmp_path / "nothing")).snapshot()
    location = str(tmp_path / "t")
    write_deltalake(location, pa.table({"id": [1]}))
    for version in ("7", "yesterday"):
        with pytest.raises(IndexTablesError, match="COMPANION_VERSION"):
            delta(location).snapshot(version)
    schema = {"type": "struct", "fields": [_mapped("a", "long", 1, "a")]}
    HandWrittenDelta(tmp_path / "w", schema, features=["featureOfTomorrow"])
    with pytest.raises(IndexTablesError, match="COMPANION_SOURCE"):
        delta(str(tmp_path / "w")).snapshot()
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(IndexTablesError, match=r"pip install 'indextables\[delta\]'"):
        delta(location).snapshot()


def test_credentials_are_not_printed():
    secret = {"aws_secret_access_key": "geheim"}
    assert "geheim" not in repr(DeltaSource(open_store("s3://b/t"), secret))
