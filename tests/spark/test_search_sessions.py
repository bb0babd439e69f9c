"""Searches under other settings than the defaults, and of columns that Spark pads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.spark

TABLE = "settings_searched"
# Spark computes it, so the search beside it is matched by row
BY_ROW = "upper(word) = 'none'"


@contextmanager
def settings(spark, **values: str) -> Iterator[None]:
    """Settings of `spark.sql`, with `_` for dots."""
    given = {f"spark.sql.{key.replace('_', '.')}": value for key, value in values.items()}
    before = {key: spark.conf.get(key) for key in given}
    for key, value in given.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture(scope="module")
def table(spark) -> Iterator[str]:
    spark.sql(
        f"CREATE TABLE {TABLE} (code CHAR(5), id INT, message STRING, word VARCHAR(9), day DATE, "
        "at TIMESTAMP, part STRUCT<code: CHAR(3)>, codes ARRAY<CHAR(2)>) USING indextables "
        "TBLPROPERTIES ('indexing.typemap.message' = 'text')"
    )
    spark.sql(
        f"INSERT INTO {TABLE} VALUES "
        "('ab', 1, 'disk full', 'a', DATE'2026-01-01', TIMESTAMP'2026-01-01T02:00:00Z',"
        " struct('x'), array('y')), "
        "('abc', 2, 'disk slow', 'b', DATE'2026-01-02', TIMESTAMP'2026-01-02T12:00:00Z',"
        " struct('xy'), array('z', 'y')), "
        "(null, 3, null, null, null, null, null, null), "
        "('ab cd', 4, 'peer reset', 'c', DATE'2026-01-05', TIMESTAMP'2026-01-05T02:00:00Z',"
        " struct(null), array())"
    )
    yield TABLE
    spark.sql(f"DROP TABLE {TABLE}")


def found(spark, where: str, source: str = TABLE) -> list[int]:
    return sorted(row.id for row in spark.sql(f"SELECT id FROM {source} WHERE {where}").collect())


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("SELECT id, message, rand() AS r FROM {}", [1, 2]),
        ("SELECT *, uuid() AS r FROM {}", [1, 2]),
        ("SELECT *, monotonically_increasing_id() AS r FROM {} WHERE id > 1", [2]),
    ],
)
def test_searches_above_values_that_differ_in_every_run(spark, table, source, want):
    above = f"({source.format(table)})"
    for used in ("", " AND CAST(r AS STRING) > ''"):
        assert found(spark, "message indexquery 'disk'" + used, above) == want
    if "*" in source:
        named = "message indexquery 'word:b OR word:c' AND CAST(r AS STRING) > ''"
        assert found(spark, named, above) == [2, 4]
        assert found(spark, "* indexquery 'disk' AND CAST(r AS STRING) > ''", above) == want


@pytest.mark.parametrize(
    ("made", "read", "want"),
    [("UTC", "America/New_York", [1, 2, 4]), ("America/New_York", "UTC", [2])],
)
def test_a_view_is_searched_in_another_time_zone(spark, table, made, read, want):
    days = "CAST(at AS DATE) IN (DATE'2026-01-01', DATE'2026-01-05')"
    with settings(spark, session_timeZone=made):
        frame = spark.sql(f"SELECT id FROM {table} WHERE message indexquery 'slow' OR {days}")
        frame.createOrReplaceTempView("zone_searched")
    with settings(spark, session_timeZone=read):
        assert found(spark, "true", "zone_searched") == want
        assert sorted(row.id for row in frame.collect()) == want
    spark.catalog.dropTempView("zone_searched")


def test_names_in_double_quotes(spark, table):
    with settings(spark, ansi_doubleQuotedIdentifiers="true"):
        assert found(spark, "\"message\" indexquery 'disk'") == [1, 2]
        assert found(spark, 't."part"."code" indexquery \'x*\'', f'"{table}" t') == [1, 2]
        spark.sql("DECLARE OR REPLACE VARIABLE \"wanted\" STRING DEFAULT 'slow'")
        assert found(spark, 'message indexquery "wanted"') == [2]
        spark.sql("DROP TEMPORARY VARIABLE wanted")
    assert found(spark, 'message indexquery "disk"') == [1, 2]


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ("message indexquery 'code:ab*'", [1, 2, 4]),
        ("message indexquery 'code:\"ab   \"'", [1]),
        ("message indexquery 'code:ab'", []),
        ("message indexquery 'part.code:\"x  \"'", [1]),
        ("message indexquery 'codes:y*'", [1, 2]),
        ("* indexquery 'disk OR \"peer reset\"'", [1, 2, 4]),
        ("code indexquery 'ab*'", [1, 2, 4]),
        ("code indexquery 'ab'", []),
        ("code indexquery '\"ab   \"'", [1]),
        ("code fieldmatch '\"abc  \"'", [2]),
        ("part.code indexquery '\"x  \"'", [1]),
    ],
)
def test_char_columns_are_searched_as_they_are_indexed(spark, table, condition, want):
    for padding in ("true", "false"):
        with settings(spark, readSideCharPadding=padding):
            assert found(spark, condition) == want
            assert found(spark, f"{condition} OR {BY_ROW}") == want
