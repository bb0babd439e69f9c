"""Row-level changes through SQL."""

from __future__ import annotations

import pytest

from indextables.log import open_log
from indextables.storage import open_store


@pytest.fixture(params=[(), ("kind",)], ids=["flat", "partitioned"])
def table(request, spark, table_path):
    """A table of ten rows in one or several splits; the value is its name in SQL."""
    rows = spark.range(0, 10, 1, 2).selectExpr(
        "id", "concat('row ', id) AS message", "cast(id % 3 AS int) AS kind"
    )
    writer = rows.write.format("indextables").option("indexing.typemap.message", "text")
    (writer.partitionBy(*request.param) if request.param else writer).save(table_path)
    return f"indextables.`{table_path}`"


def ids(spark, table: str, where: str = "true") -> list[int]:
    return sorted(r.id for r in spark.sql(f"SELECT id FROM {table} WHERE {where}").collect())


def test_delete_by_what_the_index_answers(spark, table):
    spark.sql(f"DELETE FROM {table} WHERE id IN (2, 3) OR kind = 1")
    assert ids(spark, table) == [0, 5, 6, 8, 9]
    spark.sql(f"DELETE FROM {table} WHERE message indexquery '8'")
    assert ids(spark, table) == [0, 5, 6, 9]
    assert spark.sql(f"SELECT count(*), max(id), sum(id) FROM {table}").first() == (4, 9, 20)


def test_delete_by_what_only_spark_can_tell(spark, table):
    spark.sql(f"DELETE FROM {table} WHERE length(message) * id > 40")
    assert ids(spark, table) == list(range(9))
    spark.sql(f"DELETE FROM {table} WHERE id IN (SELECT max(id) FROM {table})")
    assert ids(spark, table) == list(range(8))


def test_delete_of_all_rows_removes_the_splits(spark, table):
    spark.sql(f"DELETE FROM {table} WHERE id >= 0")
    assert ids(spark, table) == []
    path = table.split("`")[1]
    assert open_log(open_store(path)).snapshot().num_files == 0


def test_update_moves_rows_to_new_splits(spark, table):
    spark.sql(f"UPDATE {table} SET message = concat(message, ' changed'), kind = 7 WHERE id > 7")
    assert ids(spark, table, "message indexquery 'changed'") == [8, 9]
    assert ids(spark, table, "kind = 7") == [8, 9]
    assert ids(spark, table) == list(range(10))


@pytest.mark.parametrize("where", ["", "WHERE id = 3", "WHERE length(s.y) = 1 AND id IN (2, 3)"])
def test_members_of_structs_are_updated(spark, table_path, where):
    """The condition is computed once, not again as a runtime filter of the same rows."""
    table = f"indextables.`{table_path}`"
    rows = "id, named_struct('x', id, 'y', 'a', 'z', named_struct('w', array(id))) AS s"
    spark.sql(f"CREATE TABLE {table} AS SELECT {rows} FROM range(5)")
    expected = {3} if "= 3" in where else {2, 3} if where else set(range(5))
    update = f"UPDATE {table} SET s.x = 100, s.z.w = array(7) {where}"
    assert "dynamicpruning" not in spark.sql(f"EXPLAIN EXTENDED {update}").first()[0].lower()
    spark.sql(update)
    seen = {r.id: (r.s.x, r.s.y, r.s.z.w) for r in spark.sql(f"SELECT * FROM {table}").collect()}
    assert seen == {i: (100, "a", [7]) if i in expected else (i, "a", [i]) for i in range(5)}


def test_merge_into_updates_deletes_and_inserts(spark, table):
    spark.sql(f"""
        MERGE INTO {table} t USING (
          SELECT * FROM VALUES (3L, 'three', 0), (4L, 'x', 1), (99L, 'new', 2) s(id, message, kind)
        ) s ON t.id = s.id
        WHEN MATCHED AND s.message = 'x' THEN DELETE
        WHEN MATCHED THEN UPDATE SET message = s.message
        WHEN NOT MATCHED THEN INSERT *""")
    assert ids(spark, table) == [0, 1, 2, 3, 5, 6, 7, 8, 9, 99]
    assert ids(spark, table, "message = 'three'") == [3]


@pytest.mark.parametrize(
    ("statement", "pushed"),
    [
        ("UPDATE {t} SET kind = 7 WHERE message indexquery '8'", "message indexquery '8'"),
        ("UPDATE {t} SET kind = 7 WHERE * indexquery '8'", "indexqueryall('8')"),
        ("UPDATE {t} SET kind = 7 WHERE message LIKE 'r%w%8'", "message LIKE 'r%w%8'"),
        (
            "DELETE FROM {t} WHERE message indexquery '8' AND id IN (SELECT max(id) - 1 FROM {t})",
            "message indexquery '8'",
        ),
        (
            """MERGE INTO {t} t USING (SELECT 8L AS id) s
               ON t.id = s.id AND t.message indexquery '8' WHEN MATCHED THEN DELETE""",
            "message indexquery '8'",
        ),
    ],
)
def test_rows_to_change_are_found_by_the_index(spark, table, statement, pushed):
    """Not every row is read: neither the scan nor the write computes the condition."""
    text = statement.format(t=table)
    plan = spark.sql(f"EXPLAIN FORMATTED {text}").first()[0]
    assert pushed in plan.split("pushed filters: [")[1].splitlines()[0], plan
    assert "on rows" not in plan
    assert "WriteDelta" in plan
    spark.sql(text)
    assert ids(spark, table, "id <> 8 AND kind <> 7") == [0, 1, 2, 3, 4, 5, 6, 7, 9]
    assert ids(spark, table, "id = 8 AND kind <> 7") == []


@pytest.mark.parametrize(
    "condition", ["length(message) > 0 AND {}", "({} OR length(message) * id > 99)"]
)
def test_rows_to_change_are_matched_where_the_index_cannot_answer(spark, table, condition):
    where = condition.format("message indexquery '8'")
    spark.sql(f"UPDATE {table} SET kind = 7 WHERE id >= 0 AND {where}")
    assert ids(spark, table, "kind = 7") == [8]


def test_older_versions_still_show_deleted_rows(spark, table):
    spark.sql(f"DELETE FROM {table} WHERE id < 5")
    assert spark.sql(f"SELECT count(*) FROM {table} VERSION AS OF 1").first()[0] == 10
    assert spark.sql(f"SELECT count(*) FROM {table}").first()[0] == 5


@pytest.mark.parametrize("name", ["_split", "_doc", "__op", "_DOC"])
def test_a_column_that_would_name_rows_is_named(spark, table_path, name):
    frame = spark.sql(f"SELECT id, concat('v', id) AS `{name}` FROM range(3)")
    frame.write.format("indextables").save(table_path)
    before = open_log(open_store(table_path)).snapshot().version
    for text in (
        f"DELETE FROM indextables.`{table_path}` WHERE hash(id) = hash(1L)",
        f"UPDATE indextables.`{table_path}` SET id = 9 WHERE id = 1",
    ):
        with pytest.raises(Exception, match=f"COLUMN_RESERVED.*`{name}`"):
            spark.sql(text)
    assert open_log(open_store(table_path)).snapshot().version == before
    found = spark.read.format("indextables").load(table_path)
    assert sorted(found.collect()) == sorted(frame.collect())
    assert found.where(f"`{name}` = 'v1'").select("id").collect() == [(1,)]
    assert found.where("hash(id) != 0").count() == 3
