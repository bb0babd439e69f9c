"""Searches of columns of every type, and hints for searches that cannot find anything."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException


@pytest.fixture(scope="module")
def numbers(spark, tmp_path_factory):
    """A view of rows with a number of every type."""
    path = str(tmp_path_factory.mktemp("numbers") / "table")
    kinds = {
        "b": "TINYINT", "s": "SMALLINT", "i": "INT", "l": "BIGINT", "f": "FLOAT", "d": "DOUBLE",
        "dec": "DECIMAL(10, 2)", "wide": "DECIMAL(30, 0)",
    }  # fmt: skip
    columns = [f"CAST(id AS {kind}) AS {name}" for name, kind in kinds.items()]
    members = ", ".join(f"'{name}', CAST(id AS {kind})" for name, kind in kinds.items())
    rows = spark.range(12).selectExpr(
        "id", *columns, f"named_struct({members}, 'host', concat('h', id % 3)) AS st",
        "DATE '2024-01-01' + CAST(id AS INT) AS day", "id % 2 = 0 AS flag",
        "concat('Connection ', id, ' lost') AS message", "concat('web ', id) AS host",
    )  # fmt: skip
    rows.write.format("indextables").option("indexing.typemap.message", "text").save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("numbers")
    return [*kinds, *(f"st.{name}" for name in kinds)]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_numbers_are_searched_whatever_casts_spark_adds(spark, numbers, ansi):
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for column in numbers:
            found = spark.sql(f"SELECT id FROM numbers WHERE {column} indexquery '3'").collect()
            assert [row.id for row in found] == [3], column
            either = f"SELECT count(*) FROM numbers WHERE {column} indexquery '3 OR 4'"
            assert spark.sql(either).first()[0] == 2, column
        for condition in ("day indexquery '2024-01-04'", "NOT flag indexquery 'true' AND id = 3"):
            assert spark.sql(f"SELECT id FROM numbers WHERE {condition}").first().id == 3
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_members_of_structs_are_named_in_search_texts(spark, numbers):
    for condition in ("st.host indexquery 'h1'", "message indexquery 'lost AND st.host:h1'"):
        found = spark.sql(f"SELECT id FROM numbers WHERE {condition}").collect()
        assert sorted(row.id for row in found) == [1, 4, 7, 10], condition
    found = spark.sql("SELECT id FROM numbers WHERE * indexquery 'st.i:5'").collect()
    assert [row.id for row in found] == [5]


def test_a_colon_in_a_word_is_explained(spark, numbers):
    with pytest.raises(AnalysisException, match="quote a term that contains a colon"):
        spark.sql("SELECT * FROM numbers WHERE message indexquery '10.251.73.220:8080'").collect()
    quoted = "SELECT * FROM numbers WHERE message indexquery '\"10.251.73.220:8080\"'"
    assert spark.sql(quoted).collect() == []


def test_explain_says_why_nothing_may_be_found(spark, numbers):
    def explained(condition):
        frame = spark.sql(f"SELECT id FROM numbers WHERE {condition}")
        return frame._jdf.queryExecution().executedPlan().toString()

    assert "hint: `message = ...` compares the whole text" in explained("message = 'lost'")
    assert "hint: `host` is indexed as whole values" in explained("host indexquery 'web'")
    for plain in ("host = 'web 1'", "message indexquery 'lost'", "host indexquery '\"web 1\"'"):
        assert "hint:" not in explained(plain)


UNSUPPORTED = {
    "INTERVAL '1' DAY": "(?i)interval",
    "INTERVAL '1' MONTH": "(?i)interval",
    "array(INTERVAL '1' DAY)": "(?i)interval",
    "parse_json('{}')": "(?i)variant",
    "TIME'12:00:00'": "(?i)time",
}


@pytest.mark.parametrize("value", UNSUPPORTED)
def test_types_without_a_place_in_a_split_are_refused_everywhere(spark, tmp_path, value):
    try:
        data = spark.sql(f"SELECT 1 AS id, {value} AS v")
    except Exception:  # noqa: BLE001 (an older Spark does not know the type)
        pytest.skip("this Spark has no such type")
    with pytest.raises(Exception, match=UNSUPPORTED[value]):
        data.write.format("indextables").save(str(tmp_path / "a"))
    data.createOrReplaceTempView("unsupported")
    with pytest.raises(Exception, match="UNSUPPORTED"):
        spark.sql(
            f"CREATE TABLE unsupported_types USING indextables LOCATION '{tmp_path / 'b'}' "
            "AS SELECT * FROM unsupported"
        )
    spark.sql("DROP TABLE IF EXISTS unsupported_types")


def test_a_column_that_could_not_be_read_is_refused(spark, tmp_path):
    writer = spark.sql("SELECT 1 AS id, 'a b' AS t").write.format("indextables")
    writer = writer.option("indexing.typemap.t", "text").option("indexing.indexonlyfields", "t")
    with pytest.raises(AnalysisException, match="INDEXING_UNREADABLE"):
        writer.save(str(tmp_path / "table"))
