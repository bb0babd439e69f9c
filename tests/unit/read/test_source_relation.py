"""The companion, and its version, that answers for a source table."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config.settings import resolve
from indextables.errors import IndexTablesError
from indextables.log import open_log
from indextables.read.source_relation import (
    SourceRelation,
    companion_locations,
    index_location,
    judge,
)
from indextables.read.table import open_for_reading
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.storage import open_store

ROOT = "indextables.companion.indexroot"
BELOW = "indextables.companion.tableroot.relativepath"


def write(folder: Path, name: str, *ids: int) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": list(ids)}), folder / f"{name}.parquet")


def listed(folder: Path) -> list[tuple[str, int, int]]:
    """The files of a folder as Spark lists them."""
    return [
        (f"file:{path}", path.stat().st_size, path.stat().st_mtime_ns // 1_000_000)
        for path in sorted(folder.glob("*.parquet"))
    ]


@pytest.fixture
def source(tmp_path) -> Path:
    """A folder of two files, and its companion next to it."""
    folder = tmp_path / "src"
    write(folder, "a", 1, 2)
    write(folder, "b", 3)
    build(folder)
    return folder


def build(folder: Path, where: str = "") -> None:
    index = f"{folder}-index"
    text = f"BUILD INDEXTABLES COMPANION FOR PARQUET '{folder}' {where} AT LOCATION '{index}'"
    execute(text, LocalContext(session={}))


def verdict(folder: Path, relation: SourceRelation):
    log = open_log(open_store(f"{folder}-index", resolve()), resolve())
    return judge(relation, log.snapshot(), resolve()), log


def relation(folder: Path, files=None) -> SourceRelation:
    return SourceRelation("parquet", f"file:{folder}", files=files)


def rows_seen(folder: Path, found, log) -> int:
    settings = resolve({"sourceVersionAsOf": found.version})
    table = open_for_reading(log, log.snapshot(), settings)
    files = table.companion.files
    return log.snapshot().num_files if files is None else files.num_rows


def test_a_folder_is_answered_at_the_files_that_were_listed(source):
    before = listed(source)
    found, log = verdict(source, relation(source, before))
    assert not found.reason
    assert rows_seen(source, found, log) == log.snapshot().num_files
    write(source, "c", 4)
    # the query was resolved before the file was added
    older, log = verdict(source, relation(source, before))
    assert not older.reason
    newer, _ = verdict(source, relation(source, listed(source)))
    assert newer.version != older.version
    assert rows_seen(source, newer, log) == rows_seen(source, older, log) + 1


def test_files_that_changed_or_are_gone_are_not_answered(source):
    before = listed(source)
    write(source, "a", 7, 8)
    os.utime(source / "a.parquet", (1, 1))
    found, _ = verdict(source, relation(source, before))
    assert found.version is None
    assert "changed since the query was resolved" in found.reason
    assert verdict(source, relation(source, listed(source)))[0].reason == ""


def test_another_table_is_not_answered(source, tmp_path):
    other, _ = verdict(source, relation(tmp_path / "other"))
    assert "is the companion of" in other.reason
    delta, _ = verdict(source, SourceRelation("delta", str(source), version="1"))
    assert "is the companion of" in delta.reason
    assert verdict(source, relation(source))[0].reason == ""


def test_a_companion_of_some_partitions_is_not_the_table(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    write(folder / "part=1", "a", 1)
    write(folder / "part=2", "b", 2)
    build(folder, "WHERE part = 1")
    assert "holds only rows WHERE part = 1" in verdict(folder, relation(folder))[0].reason


def test_properties_of_the_source_name_the_companion():
    nothing = resolve()
    assert index_location({}, nothing) is None
    assert index_location({"indextables.companion.location": "/ix"}, nothing) == "/ix"
    roots = {ROOT: "s3://b/ix/", f"{ROOT}.eu": "s3://eu/ix", BELOW: "/db/events"}
    assert index_location(roots, nothing) == "s3://b/ix/db/events"
    for key in ("companion.region", "aws.region"):
        europe = resolve({f"spark.indextables.{key}": "eu"})
        assert index_location(roots, europe) == "s3://eu/ix/db/events"
    with pytest.raises(IndexTablesError, match="COMPANION_INDEX_ROOT"):
        index_location({ROOT: "s3://b/ix"}, nothing)
    session = resolve({"spark.indextables.companion.locations": "/a, /b"})
    assert companion_locations({}, session) == ("/a", "/b")
    assert companion_locations({"indextables.companion.location": "/ix"}, session) == ("/ix",)
