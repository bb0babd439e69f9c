"""All client operations through Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spec.places import Folder
from tests.spec.runner import Run, SparkDoor

from indextables import IndexTable
from indextables.errors import TableNotFoundError, from_text

pytestmark = pytest.mark.spark
SPEC = Path(__file__).parents[1] / "spec"
EVENTS_SCHEMA = "id long, level string, message string"
EVENTS = [
    (1, "ERROR", "timeout waiting for payment"),
    (2, "INFO", "cart opened"),
    (3, "ERROR", "connection reset by peer"),
]


@pytest.fixture
def path(remote, table_path) -> str:
    """A table of three events, written through the server."""
    frame = remote.createDataFrame(EVENTS, EVENTS_SCHEMA)
    writer = frame.write.format("indextables").option("indexing.typemap.message", "text")
    writer.save(table_path)
    return table_path


def rows(frame) -> list[tuple]:
    return sorted(tuple(row) for row in frame.collect())


def test_rows_come_back(remote, path):
    frame = remote.read.format("indextables").load(path)
    assert rows(frame) == EVENTS
    assert rows(frame.where("id > 1 AND level = 'ERROR'").select("id")) == [(3,)]
    assert rows(frame.groupBy("level").count()) == [("ERROR", 2), ("INFO", 1)]


def test_typical_words_in_sql(remote, path):
    call = "indextables_significant_terms('{path}', 'message', 'level:ERROR', 3)"
    found = remote.sql("SELECT * FROM " + call.format(path=path)).collect()
    assert found == []  # no word occurs in two of these rows
    remote.createDataFrame([(4, "ERROR", "timeout of cart")], EVENTS_SCHEMA).write.format(
        "indextables"
    ).mode("append").save(path)
    found = remote.sql("SELECT word, rows, all_rows FROM " + call.format(path=path))
    assert rows(found) == [("timeout", 2, 2)]


def test_search_in_sql_and_frames(remote, path):
    frame = remote.read.format("indextables").load(path)
    frame.createOrReplaceTempView("connect_events")
    text = "SELECT id FROM connect_events WHERE message indexquery 'timeout OR \"reset by\"'"
    assert rows(remote.sql(text)) == [(1,), (3,)]
    given = "SELECT id FROM connect_events WHERE message indexquery :words"
    assert rows(remote.sql(given, {"words": "cart"})) == [(2,)]
    assert rows(frame.where("message indexquery 'cart'").select("id")) == [(2,)]
    scored = remote.sql(
        "SELECT id, _score, _snippet FROM connect_events WHERE message indexquery 'cart' "
        "ORDER BY _score DESC LIMIT 1"
    ).collect()[0]
    assert (scored.id, scored._snippet) == (2, "<b>cart</b> opened")
    assert scored._score > 0


def test_save_modes(remote, path):
    more = remote.createDataFrame([(4, "INFO", "four")], "id long, level string, message string")
    with pytest.raises(Exception, match="TABLE_EXISTS"):
        more.write.format("indextables").save(path)
    more.write.format("indextables").mode("append").save(path)
    assert remote.read.format("indextables").load(path).count() == 4
    more.write.format("indextables").mode("overwrite").save(path)
    assert rows(remote.read.format("indextables").load(path).select("id")) == [(4,)]


def test_commands(remote, path):
    more = remote.createDataFrame([(4, "INFO", "four")], "id long, level string, message string")
    more.write.format("indextables").mode("append").save(path)
    merged = remote.sql(f"MERGE SPLITS '{path}' TARGET SIZE 100M").collect()[0]
    assert merged["metrics"]["status"] == "success"
    history = remote.sql(f"DESCRIBE INDEXTABLES HISTORY '{path}' LIMIT 1").collect()
    assert [row.operation for row in history] == ["MERGE SPLITS"]


def test_catalog_and_row_level_statements(remote, path):
    remote.sql("DROP TABLE IF EXISTS connect_catalog")
    remote.sql(f"CREATE TABLE connect_catalog USING indextables LOCATION '{path}'")
    remote.sql("INSERT INTO connect_catalog VALUES (9, 'WARN', 'nine')")
    remote.sql("UPDATE connect_catalog SET level = 'WARN' WHERE id = 3")
    remote.sql("DELETE FROM connect_catalog WHERE message indexquery 'cart'")
    remote.sql(
        "MERGE INTO connect_catalog t USING (SELECT 1L id, 'one' m UNION ALL SELECT 7L, 'seven') s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET message = s.m "
        "WHEN NOT MATCHED THEN INSERT (id, message) VALUES (s.id, s.m)"
    )
    found = rows(remote.sql("SELECT id, coalesce(level, '-'), message FROM connect_catalog"))
    assert found == [
        (1, "ERROR", "one"),
        (3, "WARN", "connection reset by peer"),
        (7, "-", "seven"),
        (9, "WARN", "nine"),
    ]
    assert remote.sql("SELECT * FROM connect_catalog VERSION AS OF 1").count() == 3
    assert remote.sql(f"SELECT * FROM indextables.`{path}`").count() == 4
    remote.sql("DROP TABLE connect_catalog")


def test_errors_keep_their_code(remote, tmp_path):
    with pytest.raises(Exception, match="TABLE_NOT_FOUND") as caught:
        remote.sql(f"DESCRIBE INDEXTABLES DETAIL '{tmp_path}/none'").collect()
    assert isinstance(from_text(str(caught.value)), TableNotFoundError)
    assert caught.value.getCondition() == "TABLE_NOT_FOUND"
    assert caught.value.getSqlState() == "42P01"
    assert caught.value.getMessageParameters() == {"path": f"{tmp_path}/none"}


def test_both_sides_of_a_merge_have_the_names_they_are_given(remote, tmp_path):
    location = str(tmp_path / "merged")
    remote.sql("SELECT 1 AS id, 'a' AS name").write.format("indextables").save(location)
    source = remote.sql("SELECT 1 AS id, 'b' AS name UNION ALL SELECT 2, 'c'").alias("s")
    table = IndexTable.forPath(remote, location).alias("t")
    merge = table.merge(source, "t.id = s.id").whenMatchedUpdate(set={"name": "s.name"})
    merge.whenNotMatchedInsertAll().execute()
    assert rows(table.toDF().select("t.id", "t.name")) == [(1, "b"), (2, "c")]


def test_conditions_and_values_may_be_columns(remote, tmp_path):
    from pyspark.sql.connect import functions as F  # noqa: N812 (the client's usual name)

    location = str(tmp_path / "columns")
    remote.sql("SELECT id, 'a' AS name FROM range(5)").write.format("indextables").save(location)
    source = remote.sql("SELECT 1L AS id, 'b' AS name UNION ALL SELECT 9L, 'c'").alias("s")
    table = IndexTable.forPath(remote, location).alias("t")
    merge = table.merge(source, F.col("t.id") == F.col("s.id"))
    merge = merge.whenMatchedUpdate(set={"name": F.upper("s.name")}).whenNotMatchedInsertAll()
    merge.whenNotMatchedBySourceDelete(F.col("t.id") > 3).execute()
    table.delete(F.col("t.id") == 0)
    table.update(F.col("id") == 2, {"name": F.lit("it's")})
    table.update("t.id = 3", {"name": "concat(t.name, 'x')"})
    assert rows(table.toDF()) == [(1, "B"), (2, "it's"), (3, "ax"), (9, "c")]


@pytest.mark.parametrize("by_name", [False, True], ids=["path", "name"])
@pytest.mark.parametrize("name", ["merge_splits", "drop_partitions", "restore", "describe"])
def test_spec_through_connect(name, by_name, tmp_path, remote):
    Run(SPEC / f"{name}.slt", SparkDoor(Folder(tmp_path), tmp_path, remote, by_name=by_name)).all()


CLIENT = """
import sys
import indextables
from indextables import IndexTable
from indextables.spark.functions import indexquery
from pyspark.sql import SparkSession

spark = indextables.configure(SparkSession.builder.remote(sys.argv[1])).getOrCreate()
table = IndexTable.forPath(spark, sys.argv[2])
(best,) = table.search("cart").collect()
assert (best.id, best.message, best._snippet) == (2, "cart opened", "<b>cart</b> opened"), best
assert table.toDF().where(indexquery("message", "timeout")).count() == 1
assert table.history().count() == 2
# what notebooks show
assert "rows" in table._repr_html_()
assert ">cart</mark>" in table.search("cart")._repr_html_()
assert table.history().first().operation in table.history()._repr_html_()
assert "cart" in table.explain(query="cart")._repr_html_()
spark.stop()
"""


def test_a_client_program_needs_only_the_package(path, address):
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, address, path],
        capture_output=True,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))},
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_relative_path_leads_where_parquet_goes(remote):
    frame = remote.range(3)
    frame.write.parquet("relative_parquet")
    frame.write.format("indextables").save("relative_events")
    file = remote.read.parquet("relative_parquet").selectExpr("input_file_name()").first()[0]
    location = Path(file.removeprefix("file://")).parents[1] / "relative_events"
    assert (location / "_transaction_log").is_dir()
    assert remote.read.format("indextables").load("relative_events").count() == 3
    detail = remote.sql("DESCRIBE INDEXTABLES DETAIL './relative_events'").first()
    assert detail.asDict()["location"] == str(location)
    assert remote.sql("SELECT * FROM indextables.`relative_events`").count() == 3
