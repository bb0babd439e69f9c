"""Every way to create a table: version 0 has everything of the statement."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.functions import col
from pyspark.sql.types import StructType
from tests.connect.server import HOME, environment, settings

import indextables
from indextables import IndexTable
from indextables.log import open_log
from indextables.storage import open_store

pytestmark = pytest.mark.spark


@pytest.fixture
def name(spark):
    """A table name that does not exist before and after the test."""
    spark.sql("DROP TABLE IF EXISTS fresh")
    yield "fresh"
    spark.sql("DROP TABLE IF EXISTS fresh")


def rows(spark, sql: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(sql).collect()), key=str)


def snapshot(path: str):
    return open_log(open_store(path)).snapshot()


KEYED = (
    "(id INT, message STRING COMMENT 'what was said', kind INT) USING indextables "
    "PARTITIONED BY (kind) {location} TBLPROPERTIES ('primary-key'='id', "
    "'spark.indextables.indexing.typemap.message'='text')"
)


@pytest.mark.parametrize("external", [False, True])
def test_create_table_writes_version_0(spark, name, table_path, external):
    location = f"LOCATION '{table_path}'" if external else ""
    spark.sql(f"CREATE TABLE {name} {KEYED.format(location=location)}")
    target = table_path if external else IndexTable.forName(spark, name).path
    made = snapshot(target)
    assert (made.version, made.schema.names) == (0, ["id", "message", "kind"])
    assert made.partition_columns == ("kind",)
    assert made.schema.fields[1].metadata["comment"] == "what was said"
    assert made.metadata.configuration["primary-key"] == "id"
    assert "primaryKey" in made.protocol.writer_features
    assert spark.table(name).count() == 0
    # an append by path keeps the primary key and the index of the statement
    frame = spark.createDataFrame(
        [(1, "a fox", 1), (1, "a dog", 2)], "id int, message string, kind int"
    )
    for _ in range(2):
        frame.write.format("indextables").mode("append").save(target)
    assert rows(spark, f"SELECT id FROM {name} WHERE message indexquery 'fox OR dog'") == [(1,)]


def test_rows_of_a_new_empty_table_can_be_changed(spark, name):
    spark.sql(f"CREATE TABLE {name} (id INT, message STRING) USING indextables")
    spark.sql(f"UPDATE {name} SET message = 'x' WHERE id = 1")
    spark.sql(f"DELETE FROM {name} WHERE id + 1 = 2")
    assert rows(spark, f"SELECT max(id), count(*) FROM {name}") == [(None, 0)]
    assert rows(spark, f"SELECT * FROM {name} WHERE * indexquery 'x'") == []
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT 1 AS id, 'm' AS message) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(spark, f"SELECT * FROM {name}") == [(1, "m")]


def test_catalog_create_table(spark, name, table_path):
    schema = StructType.fromDDL("id INT, message STRING")
    spark.catalog.createTable(name, table_path, "indextables", schema)
    assert snapshot(table_path).version == 0
    assert spark.table(name).schema == schema


def test_without_using_the_default_source_counts(spark, name):
    spark.conf.set("spark.sql.sources.default", "indextables")
    try:
        spark.sql(f"CREATE TABLE {name} (a INT)")
        spark.sql(f"INSERT INTO {name} VALUES (1)")
    finally:
        spark.conf.unset("spark.sql.sources.default")
    assert snapshot(IndexTable.forName(spark, name).path).num_records == 1
    spark.read.format("indextables").load(IndexTable.forName(spark, name).path).count()


def test_create_if_not_exists_leaves_a_table_alone(spark, name):
    spark.sql(f"CREATE TABLE {name} (a INT) USING indextables")
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} (b STRING) USING indextables")
    assert rows(spark, f"SELECT a FROM {name}") == [(1,)]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {name} (b STRING) USING indextables")


@pytest.fixture
def existing(spark, table_path) -> str:
    """A partitioned table with a primary key."""
    frame = spark.range(3).selectExpr("cast(id AS int) AS id", "'a fox' AS message", "1 AS kind")
    writer = frame.write.format("indextables").option("primary-key", "id")
    writer.option("indexing.typemap.message", "text").partitionBy("kind").save(table_path)
    return table_path


def test_a_table_at_the_location_is_adopted(spark, name, existing):
    before = snapshot(existing).version
    spark.sql(f"CREATE TABLE {name} USING indextables LOCATION '{existing}'")
    assert rows(spark, f"SELECT id FROM {name} WHERE message indexquery 'fox'") == [
        (0,),
        (1,),
        (2,),
    ]
    spark.sql(f"DROP TABLE {name}")
    statement = KEYED.format(location=f"LOCATION '{existing}'")
    spark.sql(f"CREATE TABLE {name} {statement}")
    assert spark.table(name).count() == 3
    assert snapshot(existing).version == before


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("(id INT, message STRING) USING indextables PARTITIONED BY (kind)", "kind"),
        ("(id INT, message INT, kind INT) USING indextables PARTITIONED BY (kind)", "message"),
        ("(id INT, message STRING, kind INT) USING indextables", "partitioned by `kind`"),
        ("(id INT, message STRING, kind INT) USING indextables PARTITIONED BY (id)", "partitioned"),
        ("USING indextables TBLPROPERTIES ('primary-key'='message')", "PRIMARY_KEY_CHANGED"),
        (
            "USING indextables TBLPROPERTIES ('spark.indextables.indexing.typemap.message'='json')",
            "INDEXING_CHANGED",
        ),
    ],
)
def test_a_different_table_at_the_location_is_refused(spark, name, existing, statement, message):
    with pytest.raises(Exception, match=message):
        spark.sql(f"CREATE TABLE {name} {statement} LOCATION '{existing}'")
    assert not spark.catalog.tableExists(name)
    assert snapshot(existing).num_records == 3


def test_rows_are_not_added_to_a_table_at_the_location(spark, name, existing):
    with pytest.raises(Exception, match="TABLE_EXISTS"):
        spark.sql(
            f"CREATE TABLE {name} USING indextables LOCATION '{existing}' "
            "AS SELECT 7 AS id, 'x' AS message, 1 AS kind"
        )
    assert not spark.catalog.tableExists(name)
    assert snapshot(existing).num_records == 3


@pytest.mark.parametrize("external", [False, True])
def test_as_select_keeps_what_the_statement_says(spark, name, table_path, external):
    location = f"LOCATION '{table_path}'" if external else ""
    spark.sql(
        f"CREATE TABLE {name} USING indextables PARTITIONED BY (kind) {location} "
        "TBLPROPERTIES ('primary-key'='id') AS SELECT 1 AS id, 2 AS kind WHERE false"
    )
    made = snapshot(IndexTable.forName(spark, name).path)
    assert (made.partition_columns, made.num_records) == (("kind",), 0)
    assert made.metadata.configuration["primary-key"] == "id"
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (1, 1)")
    assert rows(spark, f"SELECT * FROM {name}") == [(1, 1)]


def test_a_create_that_fails_leaves_nothing(spark, name):
    key = "spark.indextables.indexing.typemap.message"
    for properties in (f"'{key}'='nosuch'", f"'{key}'='text', 'primary-key'='nosuch'"):
        with pytest.raises(Exception, match="nosuch"):
            spark.sql(
                f"CREATE TABLE {name} (message STRING) USING indextables "
                f"TBLPROPERTIES ({properties})"
            )
        assert not spark.catalog.tableExists(name)


def test_a_damaged_table_can_be_dropped_and_nothing_else(spark, name):
    spark.sql(f"CREATE TABLE {name} USING indextables AS SELECT 1 AS id")
    path = IndexTable.forName(spark, name).path.removeprefix("file:")
    log = Path(path, "_transaction_log")
    (log / f"{len(list(log.glob('*.json'))):020}.json").write_text("damaged")
    for statement in (
        f"SELECT * FROM {name}",
        f"INSERT INTO {name} VALUES (2)",
        f"DESCRIBE {name}",
        f"ALTER TABLE {name} ADD COLUMN more INT",
        f"CREATE OR REPLACE TABLE {name} USING indextables AS SELECT 1 AS id",
    ):
        with pytest.raises(AnalysisException, match="FILE_CORRUPT"):
            spark.sql(statement)
    assert log.exists()
    spark.sql(f"DROP TABLE {name}")
    assert not spark.catalog.tableExists(name)
    assert not log.exists()


def test_a_failed_as_select_leaves_nothing(spark, name, table_path):
    with pytest.raises(Exception, match="boom"):
        spark.sql(
            f"CREATE TABLE {name} USING indextables LOCATION '{table_path}' "
            "AS SELECT raise_error('boom') AS id"
        )
    assert not spark.catalog.tableExists(name)
    with pytest.raises(indextables.errors.TableNotFoundError):
        snapshot(table_path)


@pytest.mark.parametrize("external", [False, True])
def test_replace_takes_schema_partitioning_and_rows(spark, name, table_path, external):
    location = f"LOCATION '{table_path}'" if external else ""
    spark.sql(f"CREATE TABLE {name} (a INT) USING indextables {location}")
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    spark.sql(
        f"CREATE OR REPLACE TABLE {name} (b STRING, c INT) USING indextables "
        f"PARTITIONED BY (c) {location}"
    )
    made = snapshot(IndexTable.forName(spark, name).path)
    assert (made.schema.names, made.partition_columns, made.num_records) == (["b", "c"], ("c",), 0)
    spark.sql(f"INSERT INTO {name} VALUES ('x', 1)")
    spark.sql(f"CREATE OR REPLACE TABLE {name} USING indextables {location} AS SELECT 1.5D AS d")
    assert rows(spark, f"SELECT * FROM {name}") == [(1.5,)]
    assert snapshot(IndexTable.forName(spark, name).path).partition_columns == ()


@pytest.mark.parametrize("external", [False, True])
def test_replace_is_one_version_and_loses_nothing(spark, name, table_path, external):
    location = f"LOCATION '{table_path}'" if external else ""
    spark.sql(
        f"CREATE TABLE {name} (id INT NOT NULL, v INT) USING indextables {location} "
        "TBLPROPERTIES ('primary-key' = 'id', 'mine' = 'old')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 10), (2, 20)")
    path = IndexTable.forName(spark, name).path
    before = snapshot(path)
    with pytest.raises(Exception, match="boom"):
        spark.sql(
            f"CREATE OR REPLACE TABLE {name} USING indextables AS SELECT raise_error('boom') e"
        )
    assert rows(spark, f"SELECT * FROM {name} ORDER BY id") == [(1, 10), (2, 20)]
    assert snapshot(path).version == before.version
    spark.sql(
        f"REPLACE TABLE {name} USING indextables PARTITIONED BY (k) TBLPROPERTIES ('mine' = 'new') "
        f"AS SELECT v, id % 2 AS k FROM {name} UNION ALL SELECT 10, 0"
    )
    assert rows(spark, f"SELECT v, k FROM {name} ORDER BY v, k") == [(10, 0), (10, 1), (20, 0)]
    after = snapshot(path)
    assert IndexTable.forName(spark, name).path == path
    assert (after.version, after.partition_columns) == (before.version + 1, ("k",))
    assert "primary-key" not in after.metadata.configuration
    shown = dict(rows(spark, f"SHOW TBLPROPERTIES {name}"))
    assert (shown["mine"], "primary-key" in shown) == ("new", False)
    then = f"SELECT * FROM {name} VERSION AS OF {before.version} ORDER BY id"
    assert rows(spark, then) == [(1, 10), (2, 20)]
    spark.sql(f"INSERT INTO {name} VALUES (30, 5)")
    spark.sql(f"REPLACE TABLE {name} (only STRING) USING indextables")
    assert snapshot(path).version == after.version + 2
    assert spark.table(name).columns == ["only"]
    assert rows(spark, f"SELECT * FROM {name}") == []
    with pytest.raises(Exception, match="does_not_exist"):
        spark.sql("REPLACE TABLE does_not_exist (a INT) USING indextables")


def test_replace_of_another_format_and_to_another_place(spark, name, table_path):
    spark.sql(f"CREATE TABLE {name} USING parquet AS SELECT 1 AS a")
    spark.sql(f"CREATE OR REPLACE TABLE {name} USING indextables AS SELECT 2 AS b")
    assert rows(spark, f"SELECT * FROM {name}") == [(2,)]
    clause = f"LOCATION '{table_path}'"
    spark.sql(f"CREATE OR REPLACE TABLE {name} USING indextables {clause} AS SELECT 3 AS c")
    assert rows(spark, f"SELECT * FROM {name}") == [(3,)]
    assert snapshot(table_path).num_records == 1


def test_frames_create_and_replace_by_name(spark, name, table_path):
    frame = spark.range(3).selectExpr("id", "id % 2 AS kind")
    writer = frame.writeTo(name).using("indextables").partitionedBy(col("kind"))
    writer.tableProperty("primary-key", "id").create()
    assert (
        snapshot(IndexTable.forName(spark, name).path).metadata.configuration["primary-key"] == "id"
    )
    frame.write.format("indextables").mode("append").saveAsTable(name)
    assert spark.table(name).count() == 3
    other = spark.range(2).selectExpr("cast(id AS string) AS word")
    other.write.format("indextables").mode("overwrite").saveAsTable(name)
    assert rows(spark, f"SELECT * FROM {name}") == [("0",), ("1",)]
    spark.sql(f"DROP TABLE {name}")
    for more in (frame, other):
        save = more.write.format("indextables").mode("overwrite").option("path", table_path)
        save.saveAsTable(name)
    assert rows(spark, f"SELECT * FROM {name}") == [("0",), ("1",)]


@pytest.mark.parametrize(
    "clause",
    [
        "CLUSTERED BY (a) INTO 4 BUCKETS",
        "PARTITIONED BY (bucket(4, a))",
        "PARTITIONED BY (days(d))",
    ],
)
def test_computed_partitions_are_refused(spark, name, table_path, clause):
    for target in (f"{name} (a INT, b INT, d DATE) USING indextables",
                   f"indextables.`{table_path}` (a INT, b INT, d DATE)"):  # fmt: skip
        with pytest.raises(Exception, match="UNSUPPORTED_PARTITIONING"):
            spark.sql(f"CREATE TABLE {target} {clause}")
    assert not spark.catalog.tableExists(name)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE fresh (a INT, b INT) USING indextables PARTITIONED BY (a, b)",
        "CREATE TABLE indextables.`{path}` (a INT) PARTITIONED BY (a)",
        "CREATE TABLE fresh USING indextables PARTITIONED BY (a) AS SELECT 1 AS a",
        "CREATE OR REPLACE TABLE indextables.`{path}` (a INT) PARTITIONED BY (a)",
    ],
)
def test_a_table_of_partition_columns_alone_is_refused(spark, name, table_path, statement):
    with pytest.raises(Exception, match="PARTITION_ALL_COLUMNS"):
        spark.sql(statement.replace("{path}", table_path))
    assert not spark.catalog.tableExists(name)
    assert not IndexTable.isIndexTable(spark, table_path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE {name} (a INT, A STRING) USING indextables",
        "CREATE TABLE {name} USING indextables AS SELECT 1 AS a, 'x' AS A",
        "CREATE OR REPLACE TABLE {name} USING indextables AS SELECT 1 AS a, 'x' AS A",
        "CREATE TABLE indextables.`{path}` AS SELECT 1 AS a, 'x' AS A",
    ],
)
def test_columns_that_differ_only_in_case_are_refused(spark, name, table_path, statement):
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(Exception, match="SCHEMA_DUPLICATE_COLUMN"):
            spark.sql(statement.format(name=name, path=table_path))
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    assert not spark.catalog.tableExists(name)
    assert not IndexTable.isIndexTable(spark, table_path)


def test_create_like(spark, name, existing):
    spark.sql("DROP TABLE IF EXISTS same")
    spark.sql(f"CREATE TABLE {name} USING indextables LOCATION '{existing}'")
    spark.sql(f"CREATE TABLE same LIKE {name} TBLPROPERTIES ('note'='x')")
    made = snapshot(IndexTable.forName(spark, "same").path)
    assert (made.version, made.num_records, made.partition_columns) == (0, 0, ("kind",))
    assert made.schema == snapshot(existing).schema
    assert made.metadata.configuration["primary-key"] == "id"
    spark.sql("INSERT INTO same SELECT * FROM fresh UNION ALL SELECT * FROM fresh")
    assert rows(spark, "SELECT count(*) FROM same WHERE message indexquery 'fox'") == [(3,)]
    spark.sql(f"CREATE TABLE IF NOT EXISTS same LIKE {name}")
    with pytest.raises(Exception, match="ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE same LIKE {name}")
    spark.sql("DROP TABLE same")


SCRIPT = """
CREATE TABLE made (id INT, message STRING) USING indextables
  LOCATION '{path}' TBLPROPERTIES ('primary-key' = 'id');
UPDATE made SET message = 'x';
SELECT 'rows', count(*) FROM made;
INSERT INTO made VALUES (1, 'fox'), (2, 'dog');
CREATE TEMPORARY VIEW a USING indextables OPTIONS (path '{path}');
CREATE TEMPORARY VIEW v AS SELECT id, message AS m FROM a;
SELECT 'found', id FROM v WHERE m indexquery 'dog';
"""


def test_spark_sql_creates_tables_and_views(tmp_path, table_path):
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT.format(path=table_path))
    conf = [p for k, v in settings(tmp_path).items() for p in ("--conf", f"{k}={v}")]
    command = [str(HOME / "bin" / "spark-sql"), *conf, "-f", str(script)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment()
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert {"rows\t0", "found\t2"} <= set(done.stdout.splitlines())
    assert snapshot(table_path).metadata.configuration["primary-key"] == "id"
