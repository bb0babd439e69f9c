"""Spark's own statements show and change a table of its catalog."""

from __future__ import annotations

import pytest

import indextables
from indextables import IndexTable

pytestmark = pytest.mark.spark


@pytest.fixture
def name(spark):
    """A partitioned table with three rows in two partitions."""
    spark.sql("DROP TABLE IF EXISTS orders")
    spark.sql(
        "CREATE TABLE orders (id INT, message STRING, day DATE, hour INT) USING indextables "
        "PARTITIONED BY (day, hour) "
        "TBLPROPERTIES ('spark.indextables.indexing.typemap.message'='text', 'owner team'='a')"
    )
    spark.sql(
        "INSERT INTO orders VALUES (1, 'one fox', DATE'2024-01-01', 9), "
        "(2, 'two', DATE'2024-01-01', 10), (3, 'three fox', NULL, 9)"
    )
    yield "orders"
    spark.sql("DROP TABLE IF EXISTS orders")


def rows(spark, sql: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(sql).collect()), key=str)


def location(spark, name: str) -> str:
    return IndexTable.forName(spark, name).path


def test_show_partitions(spark, name):
    shown = [row.partition for row in spark.sql(f"SHOW PARTITIONS {name}").collect()]
    assert shown == ["day=2024-01-01/hour=10", "day=2024-01-01/hour=9", "day=null/hour=9"]
    some = spark.sql(f"SHOW PARTITIONS {name} PARTITION (hour = 10)").collect()
    assert [row.partition for row in some] == ["day=2024-01-01/hour=10"]


def test_show_partitions_of_an_unpartitioned_table_says_so(spark, table_path):
    spark.range(3).write.format("indextables").save(table_path)
    with pytest.raises(Exception, match=r"(?i)partition"):
        spark.sql(f"SHOW PARTITIONS indextables.`{table_path}`").collect()


def test_drop_partition(spark, name):
    spark.sql(f"ALTER TABLE {name} DROP PARTITION (day = DATE'2024-01-01', hour = 9)")
    assert rows(spark, f"SELECT id FROM {name}") == [(2,), (3,)]
    with pytest.raises(Exception, match="UNSUPPORTED_CHANGE"):
        spark.sql(f"ALTER TABLE {name} ADD PARTITION (day = DATE'2025-01-01', hour = 1)")


def test_several_partitions_are_dropped_in_one_version(spark, name):
    before = indextables.open(location(spark, name)).version
    first = "PARTITION (day = DATE'2024-01-01', hour = 9)"
    spark.sql(f"ALTER TABLE {name} DROP {first}, PARTITION (day = NULL, hour = 9)")
    assert rows(spark, f"SELECT id FROM {name}") == [(2,)]
    assert indextables.open(location(spark, name)).version == before + 1


@pytest.mark.parametrize(
    ("partition", "left"),
    [
        ("day = DATE'2024-01-01', hour = 9", [(2,), (3,)]),
        ("day = DATE'2024-01-01'", [(3,)]),
        ("hour = 9", [(2,)]),
        ("hour = 7", [(1,), (2,), (3,)]),
    ],
)
def test_truncate_partitions(spark, name, partition, left):
    spark.sql(f"TRUNCATE TABLE {name} PARTITION ({partition})")
    assert rows(spark, f"SELECT id FROM {name}") == left


def test_an_unsupported_change_is_named(spark, name):
    with pytest.raises(Exception, match=r"UNSUPPORTED_CHANGE\].*: CLUSTER BY; hint"):
        spark.sql(f"ALTER TABLE {name} CLUSTER BY (id)")
    with pytest.raises(Exception, match=r"UNSUPPORTED_CHANGE\].*every column; hint"):
        spark.sql(f"ALTER TABLE {name} REPLACE COLUMNS (id INT)")
    with pytest.raises(Exception, match="column `more` has type `variant`"):
        spark.sql(f"ALTER TABLE {name} ADD COLUMN more VARIANT")


def test_a_wrong_condition_of_a_command_is_one_line(spark, name):
    with pytest.raises(Exception, match=r"PARTITION_PREDICATE\].*`nosuch`") as raised:
        spark.sql(f"MERGE SPLITS {name} WHERE nosuch = 1").collect()
    assert "Project" not in str(raised.value)


def test_an_older_version_of_a_missing_path_is_a_missing_table(spark, table_path):
    for version in ("VERSION AS OF 1", "TIMESTAMP AS OF '2024-01-01'"):
        with pytest.raises(Exception, match="TABLE_NOT_FOUND"):
            spark.sql(f"SELECT * FROM indextables.`{table_path}` {version}")


def test_add_column_reaches_the_table_and_the_catalog(spark, name):
    spark.sql(f"ALTER TABLE {name} ADD COLUMN note STRING")
    spark.sql(f"INSERT INTO {name} (id, message, day, hour, note) VALUES (4, 'm', NULL, 1, 'n')")
    assert rows(spark, f"SELECT id, note FROM {name} WHERE id > 2") == [(3, None), (4, "n")]
    assert "note" in indextables.open(location(spark, name)).schema.names
    assert "note" in [row.col_name for row in spark.sql(f"DESCRIBE {name}").collect()]


def test_properties_reach_the_table(spark, name):
    key = "spark.indextables.purge.defaultRetentionHours"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{key}' = '50')")
    assert indextables.open(location(spark, name)).properties[key] == "50"
    shown = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    assert shown[key] == "50"
    spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('{key}')")
    assert key not in indextables.open(location(spark, name)).properties


def test_show_create_table_makes_the_same_table(spark, name):
    spark.sql("DROP TABLE IF EXISTS made_anew")
    (text,) = spark.sql(f"SHOW CREATE TABLE {name}").collect()[0]
    for part in ("USING indextables", "PARTITIONED BY (day, hour)", "message STRING", "typemap"):
        assert part in text
    assert "LOCATION" not in text
    spark.sql(text.replace(f".{name}", ".made_anew"))
    assert spark.table("made_anew").schema == spark.table(name).schema
    spark.sql("DROP TABLE made_anew")


def test_describe_extended(spark, name):
    facts = {
        row.col_name: row.data_type for row in spark.sql(f"DESCRIBE EXTENDED {name}").collect()
    }
    assert (facts["id"], facts["day"], facts["Provider"]) == ("int", "date", "indextables")
    assert (facts["Type"], facts["Location"].split("/")[-1]) == ("MANAGED", "orders")
    assert "spark.indextables.indexing.typemap.message=text" in facts["Table Properties"]


def test_an_external_table_says_where_it_is(spark, table_path):
    spark.range(3).write.format("indextables").save(table_path)
    spark.sql("DROP TABLE IF EXISTS outside")
    spark.sql(f"CREATE TABLE outside USING indextables LOCATION '{table_path}'")
    facts = {r.col_name: r.data_type for r in spark.sql("DESCRIBE EXTENDED outside").collect()}
    assert facts["Type"] == "EXTERNAL"
    assert f"LOCATION 'file:{table_path}'" in spark.sql("SHOW CREATE TABLE outside").collect()[0][0]
    assert IndexTable.forName(spark, "outside").toDF().count() == 3
    spark.sql("DROP TABLE outside")


def test_versions_of_a_name(spark, name):
    spark.sql(f"DELETE FROM {name} WHERE id = 1")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN later INT")
    assert rows(spark, f"SELECT id FROM {name} VERSION AS OF 1") == [(1,), (2,), (3,)]
    old = spark.sql(f"SELECT * FROM {name} VERSION AS OF 1")
    assert old.columns == ["id", "message", "day", "hour"]
    found = f"SELECT o.id FROM {name} VERSION AS OF 1 o WHERE o.message indexquery 'fox'"
    assert rows(spark, found) == [(1,), (3,)]
    inside = f"SELECT (SELECT count(*) FROM {name} VERSION AS OF 1), (SELECT count(*) FROM {name})"
    assert rows(spark, inside) == [(3, 2)]
    history = spark.sql(f"DESCRIBE INDEXTABLES HISTORY {name}").collect()
    timestamp = next(row.timestamp for row in history if row.version == 1)
    shown = f"SELECT count(*) FROM {name} TIMESTAMP AS OF '{timestamp}'"
    assert rows(spark, shown) == [(3,)]
    path = f"indextables.`{IndexTable.forName(spark, name).path}`"
    for table in (name, path):
        assert rows(spark, f"SELECT count(*) FROM {table} TIMESTAMP AS OF now()") == [(2,)]
        computed = f"TIMESTAMP '{timestamp}' + INTERVAL 0 SECONDS"
        assert rows(spark, f"SELECT count(*) FROM {table} TIMESTAMP AS OF {computed}") == [(3,)]
    with pytest.raises(Exception, match="VERSION_NOT_AVAILABLE"):
        spark.sql(f"SELECT * FROM {name} VERSION AS OF 99").collect()


def test_versions_of_other_tables_are_left_to_spark(spark):
    spark.sql("DROP TABLE IF EXISTS plain")
    spark.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS id")
    with pytest.raises(Exception, match=r"(?i)time travel"):
        spark.sql("SELECT * FROM plain VERSION AS OF 0").collect()
    spark.sql("DROP TABLE plain")


def test_drop_table_removes_a_managed_table_and_keeps_an_external_one(spark, name, table_path):
    spark.range(3).write.format("indextables").save(table_path)
    spark.sql("DROP TABLE IF EXISTS outside")
    spark.sql(f"CREATE TABLE outside USING indextables LOCATION '{table_path}'")
    spark.sql("DROP TABLE outside")
    assert indextables.open(table_path).num_rows == 3
    target = location(spark, name)
    spark.sql(f"DROP TABLE {name}")
    with pytest.raises(indextables.errors.TableNotFoundError):
        indextables.open(target)
