"""Iceberg tables as sources: files, field ids, partitions, position deletes, snapshots."""

from __future__ import annotations

import shutil
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType
from pyroaring import BitMap

from indextables.engine.source import Address
from indextables.errors import IndexTablesError
from indextables.sources import iceberg
from indextables.sources.iceberg import IcebergSource
from indextables.sources.iceberg_deletes import position_deletes
from indextables.storage import open_store


@pytest.fixture
def catalog(tmp_path):
    made = SqlCatalog("c", **properties(tmp_path))
    made.create_namespace("ns")
    yield made
    made.close()


def properties(folder):
    return {"type": "sql", "uri": f"sqlite:///{folder}/c.db", "warehouse": f"file://{folder}/wh"}


def source(folder):
    return IcebergSource("ns.t", "c", properties=properties(folder))


def rows_of(snapshot):
    return snapshot.files.to_pylist()


def test_files_snapshots_and_ids(tmp_path, catalog):
    table = catalog.create_table("ns.t", pa.schema([("id", pa.int64()), ("s", pa.string())]))
    empty = source(tmp_path).snapshot()
    assert (empty.version, rows_of(empty)) == (iceberg.EMPTY, [])
    table.append(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    first = str(table.current_snapshot().snapshot_id)
    before = source(tmp_path).look()
    table.append(pa.table({"id": [4], "s": ["d"]}))
    assert source(tmp_path).look() != before
    found = source(tmp_path).snapshot()
    assert found.version == str(table.current_snapshot().snapshot_id)
    assert sorted(f["rows"] for f in rows_of(found)) == [1, 3]
    folder = tmp_path / "wh" / "ns" / "t"
    assert found.location == f"file://{folder}"
    assert all((folder / f["path"]).stat().st_size == f["size"] for f in rows_of(found))
    assert found.columns == (Address("id", (), 1), Address("s", (), 2))
    assert found.id == str(table.metadata.table_uuid)
    assert [f["rows"] for f in rows_of(source(tmp_path).snapshot(first))] == [3]
    table.delete("id = 2")
    assert sorted(f["rows"] for f in rows_of(source(tmp_path).snapshot())) == [1, 2]


def test_by_path_without_a_catalog(tmp_path, catalog):
    table = catalog.create_table("ns.t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    table.append(pa.table({"id": [2]}))
    store = open_store(str(tmp_path / "wh" / "ns" / "t"))
    found = IcebergSource("t", store=store).snapshot()
    assert len(rows_of(found)) == 2
    with pytest.raises(IndexTablesError, match="COMPANION_SOURCE"):
        IcebergSource("x", store=open_store(str(tmp_path))).snapshot()


def hadoop(folder, *states):
    """Make a table of the Hadoop catalog from existing metadata files."""
    (folder / "metadata").mkdir(parents=True, exist_ok=True)
    for number, state in enumerate(states, 1):
        written = state.removeprefix("file://")
        shutil.copy(written, folder / "metadata" / f"v{number}.metadata.json")
    return IcebergSource(str(folder), store=open_store(str(folder)))


def states(catalog, name, numbers):
    """The metadata locations of a table after each of its changes."""
    table = catalog.create_table(name, pa.schema([("id", pa.int64())]))
    found = [table.metadata_location]
    for number in numbers:
        table.append(pa.table({"id": [number]}))
        found.append(table.metadata_location)
    return found


@pytest.mark.parametrize("hint", [None, "1", "2", "7", "none"])
def test_a_hint_may_be_late(tmp_path, catalog, hint):
    found = hadoop(tmp_path / "t", *states(catalog, "ns.t", [1, 2]))
    if hint is not None:
        (tmp_path / "t" / "metadata" / "version-hint.text").write_text(hint)
    assert len(rows_of(found.snapshot())) == 2
    assert len(rows_of(found.at(found.look()))) == 2


def test_a_table_in_the_place_of_another_has_other_marks(tmp_path, catalog):
    found = hadoop(tmp_path / "t", *states(catalog, "ns.t", [1]))
    before = found.look(), found.stamp(iceberg.EMPTY)
    hadoop(tmp_path / "t", *states(catalog, "ns.other", [1]))
    assert found.look() != before[0]
    assert found.stamp(iceberg.EMPTY) != before[1]


def test_two_newest_states_are_refused(tmp_path, catalog):
    found = hadoop(tmp_path / "t", *states(catalog, "ns.t", [1, 2]))
    metadata = tmp_path / "t" / "metadata"
    shutil.copy(metadata / "v1.metadata.json", metadata / "00001-a.metadata.json")
    assert len(rows_of(found.snapshot())) == 2
    shutil.copy(metadata / "v2.metadata.json", metadata / "00003-a.metadata.json")
    with pytest.raises(IndexTablesError, match="name it by its catalog"):
        found.snapshot()


def test_renamed_added_and_dropped_columns(tmp_path, catalog):
    table = catalog.create_table("ns.t", pa.schema([("id", pa.int64()), ("s", pa.string())]))
    table.append(pa.table({"id": [1], "s": ["a"]}))
    with table.update_schema() as change:
        change.rename_column("s", "text")
        change.add_column("n", IntegerType())
        change.delete_column("id")
    found = source(tmp_path).snapshot()
    assert found.schema.names == ["text", "n"]
    assert found.columns == (Address("text", (), 2), Address("n", (), 3))
    assert str(found.schema.get("n").type.to_json()) == "integer"


def test_partitions_by_identity_are_columns_others_are_not(tmp_path, catalog):
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "day", StringType(), required=False),
    )
    table = catalog.create_table("ns.t", schema)
    with table.update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "bucket")
    # the first spec had no partitions: no column is a partition column of all files
    assert source(tmp_path).snapshot().partition_columns == ()


def test_identity_values_come_from_the_metadata(tmp_path, catalog):
    from pyiceberg.partitioning import PartitionField, PartitionSpec

    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "day", StringType(), required=False),
    )
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))
    table = catalog.create_table("ns.t", schema, partition_spec=spec)
    table.append(pa.table({"id": [1, 2, 3], "day": ["x", "y", None]}))
    found = source(tmp_path).snapshot()
    assert sorted(found.partitions["day"].to_pylist(), key=str) == [None, "x", "y"]
    assert found.columns == (Address("id", (), 1),)
    with table.update_spec() as change:
        change.remove_field("day")
    table.append(pa.table({"id": [4], "day": ["z"]}))
    # a file may now have several days: the column is read from the files
    assert source(tmp_path).snapshot().partition_columns == ()


def test_position_deletes(tmp_path, catalog):
    """One delete file names rows of two data files, as merge-on-read engines write it."""
    table = catalog.create_table("ns.t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2, 3]}))
    tasks = list(table.scan().plan_files())
    path = tasks[0].file.file_path
    deletes = tmp_path / "deletes.parquet"
    pq.write_table(
        pa.table(
            {"file_path": [path, path, "elsewhere"], "pos": pa.array([0, 2, 1], pa.int64())},
            schema=pa.schema(
                [
                    pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}),
                    pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"}),
                ]
            ),
        ),
        deletes,
    )

    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.table import FileScanTask
    from pyiceberg.typedef import Record

    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=f"file://{deletes}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=3,
        file_size_in_bytes=deletes.stat().st_size,
    )
    with_deletes = FileScanTask(tasks[0].file, delete_files={file})
    location = table.location()
    found = position_deletes(table.io, [with_deletes], location)
    assert found == {path.removeprefix(location + "/"): BitMap([0, 2])}


def test_what_cannot_be_read_is_said(tmp_path, catalog, monkeypatch):
    with pytest.raises(IndexTablesError, match="COMPANION_SOURCE"):
        source(tmp_path).snapshot()
    catalog.create_table("ns.t", pa.schema([("id", pa.int64())]))
    for version in ("17", "yesterday"):
        with pytest.raises(IndexTablesError, match="COMPANION_VERSION"):
            source(tmp_path).snapshot(version)
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(IndexTablesError, match=r"pip install 'indextables\[iceberg\]'"):
        source(tmp_path).snapshot()


def test_credentials_are_not_printed():
    assert "geheim" not in repr(IcebergSource("t", "c", properties={"token": "geheim"}))
