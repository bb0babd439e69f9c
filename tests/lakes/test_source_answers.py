"""Companions answer searches of Delta and Iceberg tables at the version that Spark reads."""

from __future__ import annotations

import shutil

import pytest

LOCATIONS = "spark.indextables.companion.locations"
ROWS = (
    "id",
    "concat('Word', id % 7, ' line ', id) AS message",
    "id % 3 AS level",
    "id % 2 AS part",
)
QUERIES = (
    "SELECT * FROM {t} WHERE {s}",
    "SELECT message, part FROM {t} WHERE {s} AND id > 100 AND part = 1",
    "SELECT count(*), sum(id), max(level) FROM {t} WHERE {s}",
    "SELECT part, count(*) FROM {t} WHERE {s} GROUP BY part",
    "SELECT id FROM {t} WHERE {s} ORDER BY id DESC LIMIT 5",
    "SELECT a.id, b.level FROM {t} a JOIN {t} b ON a.id = b.id + 7 WHERE a.{s}",
)
CHANGES = (
    "DELETE FROM {t} WHERE id % 10 = 3",
    "UPDATE {t} SET message = 'Word3 changed' WHERE id % 10 = 4",
    "INSERT INTO {t} SELECT id + 5000, concat('Word3 new ', id), 1, id % 2 FROM range(20)",
)


def plan(frame) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()


def found(frame) -> list[tuple]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


def check(spark, name: str, source: str) -> None:
    """Check that searches return the rows of Spark's own predicates, from the companion."""
    for text in QUERIES:
        answered = spark.sql(text.format(t=name, s="message indexquery 'word3'"))
        expected = spark.sql(text.format(t=name, s="message LIKE 'Word3 %'"))
        assert f"companion of {source}.`" in plan(answered), plan(answered)
        assert "companion of" not in plan(expected)
        assert found(answered) == found(expected), text


@pytest.fixture(params=["delta", "delta vectors", "iceberg", "iceberg merge-on-read"])
def table(request, spark, tmp_path):
    """A table of 400 rows, and its format, name, location and companion."""
    source, _, variant = request.param.partition(" ")
    frame = spark.range(400).selectExpr(*ROWS)
    frame.createOrReplaceTempView("new_rows")
    if source == "delta":
        name, path = "default.events", str(tmp_path / "events")
        how = f"USING delta PARTITIONED BY (part) LOCATION '{path}'"
        properties = {"delta.enableDeletionVectors": "true" if variant else "false"}
    else:
        name, path = "lake.db.events", f"{spark.lake}/db/events"
        how = "USING iceberg PARTITIONED BY (part)"
        mode = "merge-on-read" if variant else "copy-on-write"
        properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"CREATE TABLE {name} {how} TBLPROPERTIES ({listed}) AS SELECT * FROM new_rows")
    try:
        index = str(tmp_path / "index")
        built = spark.sql(
            f"BUILD INDEXTABLES COMPANION FOR {source} '{path}' "
            f"INDEXING MODES ('message':'text') AT LOCATION '{index}'"
        ).first()
        assert built.status == "success"
        yield source, name, path, index
    finally:
        spark.conf.unset(LOCATIONS)
        spark.sql(f"DROP TABLE {name}")


def test_searches_are_answered_at_every_version(spark, table):
    source, name, _, index = table
    spark.conf.set(LOCATIONS, index)
    check(spark, name, source)
    first = current(spark, name, source)
    for change in CHANGES:
        spark.sql(change.format(t=name))
        check(spark, name, source)
    shown = spark.sql(f"EXPLAIN SELECT id FROM {name} WHERE message indexquery 'word3'").first()[0]
    assert "files pending" in shown
    # an older version of the source, indexed or not
    check(spark, f"(SELECT * FROM {name} VERSION AS OF {first})", source)


def current(spark, name: str, source: str) -> int:
    if source == "delta":
        return spark.sql(f"DESCRIBE HISTORY {name}").first().version
    return spark.sql(f"SELECT snapshot_id FROM {name}.snapshots").first().snapshot_id


def test_a_property_of_the_table_names_its_companion(spark, table):
    source, name, _, index = table
    search = f"SELECT id FROM {name} WHERE message indexquery 'word3'"
    with pytest.raises(Exception, match="SEARCH_NOT_PUSHED"):
        spark.sql(search).collect()
    spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('indextables.companion.location' = '{index}')"
    )
    check(spark, name, source)
    catalog = "" if source == "iceberg" else "spark_catalog."
    by_name = spark.sql(f"SELECT id FROM ix.{catalog}{name} WHERE message indexquery 'word3'")
    assert found(by_name) == found(spark.sql(search))


def test_readers_by_path_are_answered(spark, table):
    source, _, path, index = table
    spark.conf.set(LOCATIONS, index)
    frame = spark.read.format(source).load(path)
    hits = frame.where("message indexquery 'word3'")
    assert f"companion of {source}.`" in plan(hits)
    assert found(hits) == found(frame.where("message LIKE 'Word3 %'"))


def test_changes_of_rows_by_a_search_are_not_read_from_the_companion(spark, table):
    _, name, _, index = table
    spark.conf.set(LOCATIONS, index)
    with pytest.raises(Exception, match="SEARCH_NOT_PUSHED"):
        spark.sql(f"DELETE FROM {name} WHERE message indexquery 'word3'")
    assert spark.table(name).count() == 400


def test_another_table_in_the_place_of_the_source_is_noticed(spark, tmp_path):
    """A table that is dropped and created again starts at version 0, like its predecessor."""
    path, index = str(tmp_path / "events"), str(tmp_path / "index")
    property_ = f"TBLPROPERTIES ('indextables.companion.location' = '{index}')"
    search = "SELECT count(*) FROM default.replaced WHERE message indexquery 'word'"
    spark.conf.set("spark.indextables.companion.answers", "all")
    try:
        for number, rows in enumerate((30, 20, 10)):
            spark.sql(
                f"CREATE TABLE default.replaced USING delta {property_} LOCATION '{path}' AS "
                f"SELECT id, concat('word ', id) AS message FROM range({rows})"
            )
            if number == 0:
                spark.sql(
                    f"BUILD INDEXTABLES COMPANION FOR DELTA '{path}' "
                    f"INDEXING MODES ('message':'text') AT LOCATION '{index}'"
                ).collect()
                assert spark.sql(search).first()[0] == rows
            else:
                with pytest.raises(Exception, match="COMPANION_REPLACED"):
                    spark.sql(search).collect()
            # Spark answers what it can without the companion
            counted = spark.sql("SELECT count(*) FROM default.replaced WHERE id >= 5").first()[0]
            assert counted == rows - 5
            spark.sql("DROP TABLE default.replaced")
            shutil.rmtree(path)
    finally:
        spark.conf.unset("spark.indextables.companion.answers")
        spark.sql("DROP TABLE IF EXISTS default.replaced")
