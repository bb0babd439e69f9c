"""ALTER TABLE changes the table itself, completely or not at all."""

from __future__ import annotations

import re

import pytest

from indextables import IndexTable
from indextables.log import open_log
from indextables.storage import open_store

pytestmark = pytest.mark.spark


@pytest.fixture(params=["name", "path", "partitioned"])
def table(request, spark, table_path):
    """A table with two rows, by name, by path, and partitioned."""
    spark.sql("DROP TABLE IF EXISTS changing")
    columns = "(id INT NOT NULL, who STRUCT<name: STRING>, kind INT)"
    name = "changing" if request.param != "path" else f"indextables.`{table_path}`"
    using = "USING indextables" if request.param != "path" else ""
    partitions = "PARTITIONED BY (kind)" if request.param == "partitioned" else ""
    spark.sql(f"CREATE TABLE {name} {columns} {using} {partitions}")
    spark.sql(f"INSERT INTO {name} VALUES (1, named_struct('name', 'a'), 1), (2, NULL, 2)")
    yield name
    spark.sql("DROP TABLE IF EXISTS changing")


def rows(spark, sql: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(sql).collect()), key=str)


def snapshot(spark, table: str):
    path = table.split("`")[1] if "`" in table else IndexTable.forName(spark, table).path
    return open_log(open_store(path)).snapshot()


def described(spark, table: str) -> dict[str, tuple]:
    shown = spark.sql(f"DESCRIBE {table}").collect()
    return {row.col_name: (row.data_type, row.comment) for row in reversed(shown)}


def test_position_and_comment_of_added_columns(spark, table):
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (a INT COMMENT 'one' FIRST, b INT AFTER id)")
    assert spark.table(table).columns == ["a", "id", "b", "who", "kind"]
    assert snapshot(spark, table).schema.names == ["a", "id", "b", "who", "kind"]
    assert described(spark, table)["a"] == ("int", "one")
    spark.sql(f"INSERT INTO {table} VALUES (9, 3, 8, NULL, 1)")
    assert rows(spark, f"SELECT a, b FROM {table} WHERE id = 3") == [(9, 8)]


def test_columns_are_shown_as_they_are(spark, table):
    spark.sql(f"ALTER TABLE {table} ADD COLUMN a INT AFTER id")
    assert [c.name for c in spark.catalog.listColumns(table)] == ["id", "a", "who", "kind"]
    shown = [row.col_name for row in spark.sql(f"SHOW COLUMNS IN {table}").collect()]
    assert shown == ["id", "a", "who", "kind"]
    text = spark.sql(f"SHOW CREATE TABLE {table}").collect()[0][0]
    assert text.index("id INT") < text.index("a INT") < text.index("who STRUCT")


def test_a_column_that_only_the_log_knows_is_changed_by_name(spark, table):
    frame = spark.createDataFrame([(3, 1, "x")], "id int, kind int, more string")
    writer = frame.write.format("indextables").option("mergeSchema", "true").mode("append")
    writer.save(snapshot(spark, table).path)
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN more COMMENT 'by path'")
    assert described(spark, table)["more"] == ("string", "by path")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN more")
    assert spark.table(table).columns == ["id", "who", "kind"]


def test_a_type_is_widened(spark, table):
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT")
    spark.sql(f"INSERT INTO {table} VALUES (5000000000, NULL, 1)")
    assert rows(spark, f"SELECT id FROM {table} WHERE id > 1") == [(2,), (5000000000,)]
    assert rows(spark, f"SELECT sum(id), max(id) FROM {table}") == [(5000000003, 5000000000)]
    assert described(spark, table)["id"][0] == "bigint"


def test_nested_columns_are_added(spark, table):
    spark.sql(f"ALTER TABLE {table} ADD COLUMN who.age INT COMMENT 'in years'")
    spark.sql(f"INSERT INTO {table} VALUES (3, named_struct('name', 'c', 'age', 7), 1)")
    found = rows(spark, f"SELECT id, who.name, who.age FROM {table}")
    assert found == [(1, "a", None), (2, None, None), (3, "c", 7)]


def test_comments_order_and_nullability(spark, table):
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id COMMENT 'the number'")
    assert described(spark, table)["id"] == ("int", "the number")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN who FIRST")
    assert spark.table(table).columns == ["who", "id", "kind"]
    with pytest.raises(Exception, match=r"NOT_NULL_ASSERT|NULL"):
        spark.sql(f"INSERT INTO {table} VALUES (NULL, NULL, 1)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id DROP NOT NULL")
    spark.sql(f"INSERT INTO {table} VALUES (NULL, NULL, 1)")
    assert rows(spark, f"SELECT count(*) FROM {table} WHERE id IS NULL") == [(1,)]


def test_default_values(spark, table):
    spark.sql(f"ALTER TABLE {table} ADD COLUMN state STRING DEFAULT 'new'")
    assert rows(spark, f"SELECT id, state FROM {table}") == [(1, "new"), (2, "new")]
    spark.sql(f"INSERT INTO {table} (id, kind) VALUES (3, 1)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN state SET DEFAULT 'later'")
    spark.sql(f"INSERT INTO {table} (id, kind, state) VALUES (4, 1, DEFAULT), (5, 1, NULL)")
    frame = spark.createDataFrame([(6, 1)], "id int, kind int")
    frame.write.format("indextables").mode("append").save(snapshot(spark, table).path)
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN state DROP DEFAULT")
    spark.sql(f"INSERT INTO {table} (id, kind) VALUES (7, 1)")
    found = rows(spark, f"SELECT id, state FROM {table} WHERE id > 2")
    assert found == [(3, "new"), (4, "later"), (5, None), (6, "later"), (7, None)]
    assert rows(spark, f"SELECT id FROM {table} WHERE state = 'new'") == [(1,), (2,), (3,)]


def test_a_column_is_dropped(spark, table):
    spark.sql(f"ALTER TABLE {table} DROP COLUMN who")
    assert spark.table(table).columns == ["id", "kind"]
    assert rows(spark, f"SELECT * FROM {table}") == [(1, 1), (2, 2)]
    spark.sql(f"INSERT INTO {table} VALUES (3, 1)")
    assert rows(spark, f"SELECT id FROM {table} WHERE kind = 1") == [(1,), (3,)]
    # splits still have its values, which must not reappear
    with pytest.raises(Exception, match="COLUMN_DROPPED"):
        spark.sql(f"ALTER TABLE {table} ADD COLUMN who INT")
    frame = spark.createDataFrame([(4, 1, "x")], "id int, kind int, who string")
    writer = frame.write.format("indextables").option("mergeSchema", "true")
    with pytest.raises(Exception, match="COLUMN_DROPPED"):
        writer.mode("append").save(snapshot(spark, table).path)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN IF EXISTS who")
    fresh = frame.write.format("indextables").mode("overwrite").option("overwriteSchema", "true")
    fresh.save(snapshot(spark, table).path)
    assert rows(spark, f"SELECT id, who FROM {table}") == [(4, "x")]


def test_a_column_is_renamed(spark, table):
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN who TO whom")
    assert spark.table(table).columns == ["id", "whom", "kind"]
    assert rows(spark, f"SELECT id, whom.name FROM {table}") == [(1, "a"), (2, None)]
    spark.sql(f"INSERT INTO {table} VALUES (3, named_struct('name', 'c'), 1)")
    assert rows(spark, f"SELECT id FROM {table} WHERE whom.name = 'c'") == [(3,)]


def test_a_renamed_text_column_stays_searchable(spark):
    spark.sql("DROP TABLE IF EXISTS changing")
    spark.sql(
        "CREATE TABLE changing (id INT, message STRING) USING indextables "
        "TBLPROPERTIES ('spark.indextables.indexing.typemap.message'='text')"
    )
    spark.sql("INSERT INTO changing VALUES (1, 'a fox'), (2, 'a dog')")
    spark.sql("ALTER TABLE changing RENAME COLUMN message TO words")
    spark.sql("INSERT INTO changing VALUES (3, 'two dogs and a fox')")
    assert rows(spark, "SELECT id FROM changing WHERE words indexquery 'fox'") == [(1,), (3,)]
    spark.sql("MERGE SPLITS changing")
    assert rows(spark, "SELECT id FROM changing WHERE words indexquery 'dog'") == [(2,)]
    spark.sql("DROP TABLE changing")


@pytest.mark.parametrize("table", ["partitioned"], indirect=True)
@pytest.mark.parametrize("change", ["DROP COLUMN kind", "RENAME COLUMN kind TO sort"])
def test_partition_columns_stay(spark, table, change):
    with pytest.raises(Exception, match=r"(?i)partition"):
        spark.sql(f"ALTER TABLE {table} {change}")


@pytest.mark.parametrize(
    "change",
    [
        "RENAME COLUMN who TO kind",
        "DROP COLUMN who.name",
        "RENAME COLUMN who.name TO full",
        "ADD COLUMNS (fine INT, kind INT)",
        "ADD COLUMN more INT NOT NULL",
        "ALTER COLUMN id TYPE STRING",
        "SET TBLPROPERTIES ('primary-key'='id')",
    ],
)
def test_a_refused_change_changes_nothing(spark, table, change):
    before, shown = snapshot(spark, table), spark.table(table).schema
    with pytest.raises(Exception, match=r"\["):
        spark.sql(f"ALTER TABLE {table} {change}")
    assert snapshot(spark, table).metadata == before.metadata
    assert spark.table(table).schema == shown


def test_a_column_beside_the_partition_columns_stays(spark, table_path):
    spark.sql(f"CREATE TABLE indextables.`{table_path}` (a INT, p INT) PARTITIONED BY (p)")
    with pytest.raises(Exception, match=r"UNSUPPORTED_CHANGE.*`a`, the only one"):
        spark.sql(f"ALTER TABLE indextables.`{table_path}` DROP COLUMN a")


def test_columns_of_an_empty_table_take_their_index_along(spark, table_path):
    name, key = f"indextables.`{table_path}`", "spark.indextables.indexing.typemap"
    properties = f"'{key}.message'='text', '{key}.other'='text'"
    spark.sql(
        f"CREATE TABLE {name} (id INT, message STRING, other STRING) TBLPROPERTIES ({properties})"
    )
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN message TO words")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN other")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'disk full')")
    assert rows(spark, f"SELECT id FROM {name} WHERE words indexquery 'disk'") == [(1,)]


def test_a_dropped_column_of_an_empty_table_may_come_back(spark, table_path):
    name = f"indextables.`{table_path}`"
    spark.sql(f"CREATE TABLE {name} (id INT, a STRING)")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN a")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN a INT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 2)")
    assert rows(spark, f"SELECT * FROM {name}") == [(1, 2)]


def test_properties_do_not_contradict_the_index(spark, table_path):
    """Such a property would make every later write fail."""
    name = f"indextables.`{table_path}`"
    key = "spark.indextables.indexing.typemap.message"
    spark.sql(f"CREATE TABLE {name} (message STRING) TBLPROPERTIES ('{key}'='text')")
    with pytest.raises(Exception, match=r"INDEXING_CHANGED.*REINDEX"):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{key}'='string')")
    spark.sql(f"INSERT INTO {name} VALUES ('disk full')")
    assert spark.sql(f"SELECT * FROM {name} WHERE message indexquery 'disk'").count() == 1


def test_a_name_does_not_move_to_where_no_table_is(spark, table_path, tmp_path):
    spark.sql(f"CREATE TABLE moving (a INT) USING indextables LOCATION '{table_path}'")
    try:
        spark.sql("INSERT INTO moving VALUES (1), (2)")
        with pytest.raises(Exception, match="TABLE_NOT_FOUND"):
            spark.sql(f"ALTER TABLE moving SET LOCATION '{tmp_path / 'nothing'}'")
        assert spark.table("moving").count() == 2
        other = str(tmp_path / "other")
        spark.table("moving").limit(1).write.format("indextables").save(other)
        spark.sql(f"ALTER TABLE moving SET LOCATION '{other}'")
        assert spark.table("moving").count() == 1
    finally:
        spark.sql("DROP TABLE moving")


def test_defaults_of_a_new_table(spark, table_path):
    name = f"indextables.`{table_path}`"
    spark.sql(f"CREATE TABLE {name} (id INT, n INT DEFAULT 1 + 1, d DATE DEFAULT DATE'2024-01-01')")
    spark.sql(f"INSERT INTO {name} (id) VALUES (1)")
    spark.sql(f"INSERT INTO {name} VALUES (2, DEFAULT, NULL)")
    assert rows(spark, f"SELECT id, n, cast(d AS STRING) FROM {name}") == [
        (1, 2, "2024-01-01"),
        (2, 2, None),
    ]


@pytest.mark.parametrize(
    "column", ["n INT GENERATED ALWAYS AS (id + 1)", "n BIGINT GENERATED ALWAYS AS IDENTITY"]
)
def test_generated_columns_are_refused(spark, table_path, column):
    for target in ("changing (id INT, {}) USING indextables", "indextables.`{p}` (id INT, {})"):
        with pytest.raises(Exception, match=r"(?i)generated|identity"):
            spark.sql("CREATE TABLE " + target.format(column, p=table_path))


def test_analyze_table_has_nothing_to_do(spark, table):
    spark.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS")
    spark.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS")


def test_a_path_without_a_table_says_so(spark, table_path):
    for statement in ("SELECT * FROM {}", "UPDATE {} SET a = 1", "DELETE FROM {} WHERE a = 1"):
        with pytest.raises(Exception, match=r"\[TABLE_NOT_FOUND\].*" + re.escape(table_path)):
            spark.sql(statement.format(f"indextables.`{table_path}`")).collect()
    spark.sql(f"DROP TABLE IF EXISTS indextables.`{table_path}`")
    assert not spark.catalog.tableExists(f"indextables.`{table_path}`")
