"""Source tables answer searches through their companions, with the same rows as Spark."""

from __future__ import annotations

import re

import pytest
from tests.spark.companion_cases import CASES

LOCATIONS = "spark.indextables.companion.locations"
ANSWERS = "spark.indextables.companion.answers"


def build(spark, path: str, index: str, *clauses: str) -> None:
    statement = f"BUILD INDEXTABLES COMPANION FOR PARQUET '{path}' "
    spark.sql(" ".join([statement, *clauses, f"AT LOCATION '{index}'"])).collect()


ROWS = (
    "id",
    "concat('Word', id % 7, ' line ', id) AS message",
    "CASE WHEN id % 5 = 0 THEN NULL ELSE id % 3 END AS level",
    "id % 2 AS part",
)


@pytest.fixture
def source(spark, tmp_path):
    """A partitioned folder of Parquet files, its companion, and a session that finds it."""
    path, index = str(tmp_path / "src"), str(tmp_path / "ix")
    frame = spark.range(0, 400).selectExpr(*ROWS)
    frame.repartition(2).write.partitionBy("part").parquet(path)
    build(spark, path, index, "INDEXING MODES ('message':'text')")
    spark.conf.set(LOCATIONS, index)
    yield path, index
    for key in (LOCATIONS, ANSWERS):
        spark.conf.unset(key)


def append(spark, path: str) -> None:
    frame = spark.range(1000, 1040).selectExpr(*ROWS)
    frame.repartition(1).write.mode("append").partitionBy("part").parquet(path)


def plan(frame) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()


def found(frame) -> list[tuple]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


def is_answered(frame) -> bool:
    return "companion of" in plan(frame)


SEARCHES = (
    "SELECT * FROM {t} WHERE {search}",
    "SELECT message, part FROM {t} WHERE {search} AND id > 100 AND part = 1",
    "SELECT count(*), sum(id), max(level) FROM {t} WHERE {search}",
    "SELECT part, count(*) FROM {t} WHERE {search} OR id = 4 GROUP BY part",
    "SELECT id FROM {t} WHERE {search} ORDER BY id DESC LIMIT 5",
    "SELECT a.id, b.level FROM {t} a JOIN {t} b ON a.id = b.id + 7 WHERE a.{search}",
    "SELECT id FROM {t} WHERE {search} UNION ALL SELECT id FROM {t} WHERE id < 3",
    "SELECT id FROM {t} WHERE id IN (SELECT id + 1 FROM {t} WHERE {search})",
)


@pytest.mark.parametrize("reader", ["v1", "v2"])
def test_searches_of_a_folder_are_answered_by_its_companion(spark, source, reader):
    path, _ = source
    usual = spark.conf.get("spark.sql.sources.useV1SourceList")
    if reader == "v2":
        spark.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        for behind in (False, True):
            if behind:
                append(spark, path)
            spark.read.parquet(path).createOrReplaceTempView("src")
            for text in SEARCHES if (reader, behind) == ("v1", True) else SEARCHES[:3]:
                answered = spark.sql(text.format(t="src", search="message indexquery 'word3'"))
                expected = spark.sql(text.format(t="src", search="message LIKE 'Word3 %'"))
                assert is_answered(answered), plan(answered)
                assert not is_answered(expected)
                assert found(answered) == found(expected), text
    finally:
        spark.conf.set("spark.sql.sources.useV1SourceList", usual)


def test_explain_shows_the_rewrite_and_how_far_the_index_is(spark, source):
    path, _ = source
    append(spark, path)
    statement = f"SELECT id FROM parquet.`{path}` WHERE message indexquery 'word3'"
    shown = spark.sql(f"EXPLAIN {statement}").first()[0]
    assert f"companion of parquet.`file:{path}`" in shown
    assert "2 files pending" in shown
    assert re.search(r"pushed filters: \[.*message indexquery 'word3'", shown)
    formatted = spark.sql(f"EXPLAIN FORMATTED {statement}").first()[0]
    assert f"companion of parquet.`file:{path}`" in formatted


def test_a_query_sees_the_files_it_was_resolved_to(spark, source):
    path, _ = source
    frame = spark.read.parquet(path)
    append(spark, path)
    old = frame.filter("message indexquery 'line'")
    assert is_answered(old)
    assert old.count() == frame.count() == 400
    new = spark.read.parquet(path).filter("message indexquery 'line'")
    assert is_answered(new)
    assert new.count() == 440


def test_other_rows_than_those_of_the_companion_are_matched(spark, source, tmp_path):
    path, index = source
    search = "message indexquery 'word3'"
    expected = found(spark.read.parquet(path).filter("message LIKE 'Word3 %'"))
    # files were replaced after the query was resolved
    copy, other = str(tmp_path / "copy"), str(tmp_path / "other")
    spark.read.parquet(path).write.partitionBy("part").parquet(copy)
    matched = spark.read.parquet(copy).filter(search)
    assert not is_answered(matched)
    assert "on rows" in plan(matched)
    assert found(matched) == expected
    # a companion of some partitions
    build(spark, copy, other, "INDEXING MODES ('message':'text')", "WHERE part = 1")
    spark.conf.set(LOCATIONS, f"{index}, {other}")
    matched = spark.read.parquet(copy).filter(search)
    assert not is_answered(matched)
    assert found(matched) == expected
    # columns that Spark reads with other types
    schema = "id bigint, message string, level string, part int"
    assert not is_answered(spark.read.schema(schema).parquet(path).filter(search))
    # a single partition, and the name of a file
    assert not is_answered(spark.read.parquet(f"{path}/part=1").filter(search))
    named = spark.read.parquet(path).filter(search).selectExpr("id", "input_file_name() AS f")
    assert not is_answered(named)
    assert all(row.f.startswith("file:") for row in named.collect())


def test_cached_rows_and_searches_elsewhere_are_matched_by_the_rules_of_the_companion(
    spark, source
):
    path, index = source
    build(spark, path, f"{index}2")
    # the companion indexes whole values: single words are not found
    spark.conf.set(LOCATIONS, f"{index}2")
    spark.read.parquet(path).createOrReplaceTempView("src")
    text = "SELECT count(*) AS n FROM src WHERE message indexquery '{}'"
    whole, word = text.format('"Word3 line 3"'), text.format("word3")
    assert [spark.sql(each).first().n for each in (whole, word)] == [1, 0]
    spark.table("src").cache()
    try:
        assert not is_answered(spark.sql(whole))
        assert [spark.sql(each).first().n for each in (whole, word)] == [1, 0]
    finally:
        spark.catalog.clearCache()
    hit = "message fieldmatch '\"Word3 line 3\"' AS hit"
    counted = spark.sql(f"SELECT {hit}, id FROM src")
    assert [row.id for row in counted.collect() if row.hit] == [3]


def test_properties_of_a_catalog_table_name_its_companion(spark, source):
    path, index = source
    spark.conf.unset(LOCATIONS)
    spark.sql(f"CREATE TABLE named_source USING parquet LOCATION '{path}'")
    spark.sql("MSCK REPAIR TABLE named_source")
    try:
        query = "SELECT id, part FROM named_source WHERE message indexquery 'word3'"
        expected = found(
            spark.sql("SELECT id, part FROM named_source WHERE message LIKE 'Word3 %'")
        )
        assert expected
        assert not is_answered(spark.sql(query))
        assert found(spark.sql(query)) == expected
        for properties in (
            f"'indextables.companion.location' = '{index}'",
            (
                f"'indextables.companion.indexroot' = '{index.rpartition('/')[0]}', "
                "'indextables.companion.tableroot.relativepath' = 'ix'"
            ),
        ):
            spark.sql(f"ALTER TABLE named_source SET TBLPROPERTIES ({properties})")
            assert is_answered(spark.sql(query))
            assert found(spark.sql(query)) == expected
            spark.sql(
                "ALTER TABLE named_source UNSET TBLPROPERTIES ('indextables.companion.location')"
            )
    finally:
        spark.sql("DROP TABLE named_source")


def test_other_queries_are_answered_where_the_session_wants_it(spark, source):
    path, _ = source
    spark.read.parquet(path).createOrReplaceTempView("src")
    expected = {text: found(spark.sql(text.format(t="src"))) for text in CASES}
    assert not any(is_answered(spark.sql(text.format(t="src"))) for text in CASES)
    spark.conf.set(ANSWERS, "all")
    answered = [text for text in CASES if is_answered(spark.sql(text.format(t="src")))]
    for text in CASES:
        assert found(spark.sql(text.format(t="src"))) == expected[text], text
    assert "SELECT * FROM {t}" not in answered
    assert {
        "SELECT id FROM {t} WHERE part = 1 AND level IS NULL",
        "SELECT level, part, count(*), sum(id) FROM {t} GROUP BY level, part",
        "SELECT id, message FROM {t} ORDER BY id DESC LIMIT 7",
    } <= set(answered)
    spark.conf.set(ANSWERS, "none")
    search = spark.sql("SELECT id FROM src WHERE message indexquery 'word3'")
    assert not is_answered(search)


def test_a_companion_that_is_not_there_is_an_error(spark, source, tmp_path):
    path, _ = source
    spark.conf.set(LOCATIONS, str(tmp_path / "nothing"))
    with pytest.raises(Exception, match="TABLE_NOT_FOUND"):
        spark.read.parquet(path).filter("message indexquery 'word3'").collect()
    # Spark answers what it can without the companion
    spark.conf.set(ANSWERS, "all")
    assert spark.read.parquet(path).filter("id = 3").count() == 1


def test_timestamps_in_paths_are_read_in_the_zone_of_the_session(spark, tmp_path):
    path, index = str(tmp_path / "src"), str(tmp_path / "ix")
    rows = "id", "concat('word ', id) AS message", "timestamp'2024-07-01 12:00:00' AS hour"
    spark.range(3).selectExpr(*rows).write.partitionBy("hour").parquet(path)
    build(spark, path, index, "INDEXING MODES ('message':'text')")
    spark.conf.set(LOCATIONS, index)
    try:
        for zone, answered in (("UTC", True), ("Europe/Berlin", False)):
            spark.conf.set("spark.sql.session.timeZone", zone)
            frame = spark.read.parquet(path).selectExpr("message", "hour", "cast(hour AS long)")
            search = frame.filter("message indexquery 'word'")
            assert is_answered(search) == answered
            assert found(search) == found(frame)
            # the index reports that it cannot answer if the query needs the column
            direct = spark.read.format("indextables").load(index)
            assert direct.filter("message indexquery 'word'").select("message").count() == 3
            touching = direct.select("message", "hour", direct.hour.cast("long"))
            narrowed = direct.filter("hour > timestamp'2024-01-01 00:00:00'")
            if answered:
                assert found(touching) == found(frame)
                assert narrowed.count() == 3
                continue
            for refused in (touching, narrowed, direct.groupBy("hour").count()):
                with pytest.raises(Exception, match="COMPANION_TIME_ZONE"):
                    refused.collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.unset(LOCATIONS)


def test_a_companion_too_far_behind_says_so(spark, source):
    path, _ = source
    append(spark, path)
    spark.conf.set("spark.indextables.companion.maxPendingSize", "1")
    try:
        search = spark.read.parquet(path).filter("message indexquery 'word3'")
        with pytest.raises(Exception, match="COMPANION_BEHIND"):
            search.collect()
        spark.conf.set(ANSWERS, "all")
        assert spark.read.parquet(path).filter("id = 3").count() == 1
    finally:
        spark.conf.unset("spark.indextables.companion.maxPendingSize")
