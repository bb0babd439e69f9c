"""Folders of Parquet files as sources: what Spark lists, infers and skips."""

from __future__ import annotations

import datetime as dt
import os
import uuid
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.errors import IndexTablesError
from indextables.sources.hive import infer_partitions
from indextables.sources.parquet import ParquetSource
from indextables.storage import open_store


def write(folder, name, rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.table(rows), path)
    return path


def source(folder, **more):
    return ParquetSource(open_store(str(folder)), **more)


def test_files_and_what_is_left_out(tmp_path):
    write(tmp_path, "b.parquet", {"id": [1]})
    write(tmp_path, "a/c.parquet", {"id": [2]})
    for hidden in ("_SUCCESS", "_metadata", ".crc", "_temporary/x.parquet", ".tmp/x.parquet"):
        write(tmp_path, hidden, {"id": [3]})
    (tmp_path / "empty").write_bytes(b"")
    # an index in the folder of its source
    (tmp_path / "a" / "of-an-index.split").write_bytes(b"split")
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / f"index-{uuid.uuid4()}-0").write_bytes(b"vectors")
    found = source(tmp_path).snapshot()
    assert found.files["path"].to_pylist() == ["a/c.parquet", "b.parquet"]
    assert found.files["rows"].null_count == 2
    assert found.id is None


WIDE = pa.schema([("id", pa.int64()), ("more", pa.string())])


@pytest.mark.parametrize("summary", ["_common_metadata", "_metadata", "p=1/_metadata"])
def test_the_schema_is_that_of_a_summary_file(tmp_path, summary):
    write(tmp_path, "p=1/a.parquet", {"id": [1]})
    before = source(tmp_path).snapshot()
    pq.write_metadata(WIDE, tmp_path / summary)
    found = source(tmp_path).snapshot()
    assert (before.schema.names, found.schema.names) == (["id", "p"], ["id", "more", "p"])
    assert before.version != found.version
    assert found.files["path"].to_pylist() == ["p=1/a.parquet"]


def test_a_summary_file_in_a_hidden_folder_is_not_seen(tmp_path):
    write(tmp_path, "a.parquet", {"id": [1]})
    (tmp_path / "_old").mkdir()
    pq.write_metadata(WIDE, tmp_path / "_old" / "_metadata")
    assert source(tmp_path).snapshot().schema.names == ["id"]


def test_a_replaced_file_is_another_version_and_another_stamp(tmp_path):
    path = write(tmp_path, "a.parquet", {"id": [1]})
    folder = source(tmp_path)
    before, first = folder.look(), folder.snapshot()
    assert before == folder.look() == first.version
    write(tmp_path, "a.parquet", {"id": [2]})
    os.utime(path, (1, 1))
    after = folder.snapshot()
    assert after.version == folder.look() != before
    assert after.files["stamp"].to_pylist() != first.files["stamp"].to_pylist()
    with pytest.raises(IndexTablesError, match="COMPANION_VERSION"):
        folder.snapshot(before)


@pytest.mark.parametrize("in_place", [True, False])
def test_a_file_of_the_same_size_and_age_is_another_one(tmp_path, in_place):
    path = write(tmp_path, "a.parquet", {"id": [1]})
    folder, facts = source(tmp_path), path.stat()
    before = folder.snapshot()
    data = bytearray(path.read_bytes())
    data[facts.st_size // 2] ^= 1
    if not in_place:
        path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    after = folder.snapshot()
    assert after.version != before.version
    assert after.files["size"].equals(before.files["size"])
    assert after.files["stamp"].to_pylist() != before.files["stamp"].to_pylist()


def test_the_schema_is_the_first_file_s_as_spark_reads_it(tmp_path):
    schema = pa.schema(
        [
            pa.field("u8", pa.uint8(), nullable=False),
            ("u32", pa.uint32()),
            ("u64", pa.uint64()),
            ("ts", pa.timestamp("us", "UTC")),
            ("ntz", pa.timestamp("ms")),
            ("d", pa.decimal128(9, 2)),
            ("n", pa.struct([pa.field("l", pa.list_(pa.int16()), nullable=False)])),
        ]
    )
    write(tmp_path, "a.parquet", schema.empty_table())
    write(tmp_path, "b.parquet", {"other": [1]})
    fields = source(tmp_path).snapshot().schema.fields
    kinds = {f.name: f.type.to_json() for f in fields}
    assert (kinds["u8"], kinds["u32"], kinds["u64"]) == ("short", "long", "decimal(20,0)")
    assert (kinds["ts"], kinds["ntz"], kinds["d"]) == ("timestamp", "timestamp_ntz", "decimal(9,2)")
    assert all(f.nullable for f in fields)
    assert kinds["n"]["fields"][0]["nullable"]
    assert source(tmp_path, schema_source="b.parquet").snapshot().schema.names == ["other"]


def test_hive_partitions(tmp_path):
    for n, s in ((1, "a%2Fb"), (2, "__HIVE_DEFAULT_PARTITION__")):
        write(tmp_path, f"n={n}/s={s}/x.parquet", {"id": [n]})
    found = source(tmp_path).snapshot()
    assert found.schema.names == ["id", "n", "s"]
    assert found.partitions["n"].to_pylist() == [1, 2]
    assert found.partitions["s"].to_pylist() == ["a/b", None]


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", "-2"], "integer", [1, -2]),
        (["1", str(2**40)], "long", [1, 2**40]),
        (["1", "1.5"], "double", [1.0, 1.5]),
        ([str(2**70)], "decimal(22,0)", [Decimal(2**70)]),
        (["2024-01-02"], "date", [dt.date(2024, 1, 2)]),
        (["2024-13-02"], "string", ["2024-13-02"]),
        (["1", "x"], "string", ["1", "x"]),
        (["2024-01-02", "1"], "string", ["2024-01-02", "1"]),
        (["__HIVE_DEFAULT_PARTITION__"], "string", [None]),
        (["true"], "string", ["true"]),
    ],
)
def test_types_of_partition_values(texts, kind, values):
    found = infer_partitions([f"p={text}/x.parquet" for text in texts])
    assert found.fields[0].type.to_json() == kind
    assert found.values["p"].to_pylist() == values


def test_folders_that_do_not_agree_are_refused(tmp_path):
    for paths in (["a=1/x", "b=1/x"], ["a=1/x", "x"], ["a=1/b/x"]):
        with pytest.raises(IndexTablesError, match="COMPANION_SOURCE"):
            infer_partitions(paths)


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(IndexTablesError, match="no Parquet files"):
        source(tmp_path).snapshot()
    (tmp_path / "a.parquet").write_bytes(b"not a parquet file")
    with pytest.raises(IndexTablesError, match="FILE_CORRUPT"):
        source(tmp_path).snapshot()
