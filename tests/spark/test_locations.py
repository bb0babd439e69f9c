"""Paths resolve as in Spark's own file sources."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import indextables
from indextables.errors import from_text

pytestmark = pytest.mark.spark


def test_a_relative_path_leads_where_parquet_goes(spark, tmp_path):
    relative = os.path.relpath(tmp_path)
    frame = spark.range(3)
    frame.write.parquet(f"{relative}/parquet")
    frame.write.format("indextables").save(f"{relative}/events")
    assert {path.name for path in tmp_path.iterdir()} == {"parquet", "events"}
    assert spark.read.format("indextables").load(f"{relative}/events").count() == 3
    assert indextables.open(f"{relative}/events").num_rows == 3
    for text in (
        f"DESCRIBE INDEXTABLES DETAIL './{relative}/events'",
        f"SELECT * FROM indextables.`{relative}/events`",
    ):
        assert spark.sql(text).count() > 0
    spark.sql(f"CHECKPOINT INDEXTABLES './{relative}/events'").collect()
    assert (tmp_path / "events" / "_transaction_log" / "_last_checkpoint").exists()


def test_a_percent_sign_stands_for_itself_as_in_parquet(spark, tmp_path):
    for name in ("/a%20b", "/c d"):
        spark.range(3).write.parquet(f"file://{tmp_path}/parquet{name}")
        spark.range(3).write.format("indextables").save(f"file://{tmp_path}/events{name}")
        location = f"{tmp_path}/named{name}"
        spark.sql(f"CREATE TABLE named_place USING indextables LOCATION '{location}' AS SELECT 1 a")
        spark.sql("DROP TABLE named_place")
    for folder in ("parquet", "events", "named"):
        assert {path.name for path in (tmp_path / folder).iterdir()} == {"a%20b", "c d"}, folder


@pytest.mark.parametrize("path", ["dbfs:/data/t", "s3:/b/t", "s3a:b/t", "ftp://h/t"])
def test_a_path_that_cannot_be_meant_is_refused_everywhere(spark, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(Path.cwd().iterdir())
    for act in (
        lambda: spark.range(3).write.format("indextables").save(path),
        lambda: spark.read.format("indextables").load(path).collect(),
        lambda: spark.sql(f"DESCRIBE INDEXTABLES DETAIL '{path}'").collect(),
        lambda: indextables.open(path),
    ):
        with pytest.raises(Exception, match="STORAGE_BAD") as caught:
            act()
        found = from_text(str(caught.value))
        assert found is not None
        assert found.code in {"STORAGE_BAD_SCHEME", "STORAGE_BAD_URL"}
    assert set(Path.cwd().iterdir()) == before


def test_the_default_file_system_of_the_session_counts(spark, tmp_path):
    spark.conf.set("fs.defaultFS", "s3a://nobodys-bucket")
    try:
        with pytest.raises(Exception, match="s3a://nobodys-bucket"):
            spark.sql(f"DESCRIBE INDEXTABLES DETAIL '{tmp_path}'").collect()
    finally:
        spark.conf.unset("fs.defaultFS")
