"""Views over tables and over temporary views of tables."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark

NAMES = ("v", "w", "x", "kept", "renamed")


@pytest.fixture
def a(spark, table_path):
    """A temporary view of a table with three rows; the views of the test are dropped."""
    frame = spark.createDataFrame(
        [(1, "a fox"), (2, "a dog"), (3, "fox and dog")], "id int, content string"
    )
    frame.write.format("indextables").option("indexing.typemap.content", "text").save(table_path)
    spark.read.format("indextables").load(table_path).createOrReplaceTempView("a")
    yield "a"
    for name in NAMES:
        spark.catalog.dropTempView(name)
        spark.sql(f"DROP VIEW IF EXISTS {name}")
    spark.catalog.dropTempView("a")


def rows(spark, sql: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(sql).collect()), key=str)


def test_a_view_over_a_temporary_view(spark, a):
    spark.sql("CREATE TEMP VIEW v AS SELECT * FROM a")
    spark.sql("CREATE TEMP VIEW w AS SELECT id, content FROM v WHERE content indexquery 'dog'")
    assert rows(spark, "SELECT id FROM v WHERE content indexquery 'fox'") == [(1,), (3,)]
    assert rows(spark, "SELECT id FROM w") == [(2,), (3,)]
    assert rows(spark, "SELECT id FROM w WHERE content indexquery 'fox'") == [(3,)]
    inside = "SELECT count(*) FROM v WHERE id IN (SELECT id FROM a WHERE content indexquery 'dog')"
    assert rows(spark, inside) == [(2,)]


def test_metadata_columns_of_a_temporary_view(spark, a):
    spark.sql(
        "CREATE TEMP VIEW v AS SELECT id, _score AS score FROM a WHERE content indexquery 'fox'"
    )
    assert [row.score > 0 for row in spark.sql("SELECT score FROM v").collect()] == [True, True]
    assert spark.sql("SELECT * FROM a").columns == ["id", "content"]
    assert rows(spark, "SELECT b.id, b._doc FROM a AS b WHERE id = 1") == [(1, 0)]
    spark.table("a").createOrReplaceTempView("x")
    assert rows(spark, "SELECT id, _doc FROM x WHERE id = 1") == [(1, 0)]


def test_a_temporary_view_by_its_options(spark, a, table_path):
    spark.sql(f"CREATE TEMP VIEW w USING indextables OPTIONS (path '{table_path}')")
    spark.sql("CREATE TEMP VIEW v AS SELECT * FROM w WHERE id > 1")
    assert rows(spark, "SELECT id FROM v WHERE content indexquery 'fox'") == [(3,)]
    assert rows(spark, "SELECT id, _doc FROM w WHERE id = 1") == [(1, 0)]


def test_global_temporary_views(spark, a):
    spark.table("a").createOrReplaceGlobalTempView("everywhere")
    try:
        found = "SELECT id, _doc FROM global_temp.everywhere WHERE content indexquery 'dog'"
        assert [row[0] for row in rows(spark, found)] == [2, 3]
        spark.sql("CREATE TEMP VIEW v AS SELECT * FROM global_temp.everywhere")
        assert rows(spark, "SELECT id FROM v WHERE content indexquery 'fox'") == [(1,), (3,)]
        spark.sql("CREATE OR REPLACE GLOBAL TEMP VIEW more AS SELECT * FROM a WHERE id > 1")
        assert rows(spark, "SELECT id FROM global_temp.more") == [(2,), (3,)]
    finally:
        spark.catalog.dropGlobalTempView("everywhere")
        spark.catalog.dropGlobalTempView("more")


def test_cache_table_as_select(spark, a):
    spark.sql("CACHE TABLE x AS SELECT * FROM a WHERE content indexquery 'fox'")
    try:
        assert rows(spark, "SELECT id FROM x") == [(1,), (3,)]
    finally:
        spark.sql("UNCACHE TABLE x")


def test_a_permanent_view_over_a_temporary_one_is_refused(spark, a):
    with pytest.raises(Exception, match="INVALID_TEMP_OBJ_REFERENCE"):
        spark.sql("CREATE VIEW kept AS SELECT * FROM a")


def test_a_permanent_view_over_a_table(spark, a, table_path):
    spark.sql(f"CREATE VIEW kept AS SELECT * FROM indextables.`{table_path}`")
    assert rows(spark, "SELECT id FROM kept WHERE content indexquery 'fox'") == [(1,), (3,)]


def test_a_renamed_column_is_searchable(spark, a, table_path):
    spark.sql(
        f"CREATE VIEW renamed AS SELECT id, content AS message FROM indextables.`{table_path}`"
    )
    assert rows(spark, "SELECT id FROM renamed WHERE message indexquery 'fox'") == [(1,), (3,)]
    named = "SELECT id FROM renamed WHERE message indexquery 'content:dog'"
    assert rows(spark, named) == [(2,), (3,)]
    with pytest.raises(Exception, match="column of a view") as failure:
        spark.sql("SELECT id FROM renamed WHERE message indexquery 'message:dog'").collect()
    assert "content" in str(failure.value)
