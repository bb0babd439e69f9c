"""Table constraints: the primary key is enforced, and CHECK conditions apply to every write."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.errors import UnsupportedError
from indextables.log import open_log
from indextables.storage import open_store

pytestmark = pytest.mark.spark


@pytest.fixture(params=["name", "path"])
def table(request, spark, table_path):
    """The SQL name of a table that does not exist yet, and the clauses after its columns."""
    spark.sql("DROP TABLE IF EXISTS bound")
    if request.param == "name":
        yield "bound", f"USING indextables LOCATION '{table_path}'"
    else:
        yield f"indextables.`{table_path}`", ""
    spark.sql("DROP TABLE IF EXISTS bound")


def rows(spark, sql: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(sql).collect()), key=str)


def test_primary_key(spark, table, table_path):
    name, using = table
    spark.sql(f"CREATE TABLE {name} (id INT, n INT, PRIMARY KEY (id)) {using}")
    assert open_log(open_store(table_path)).snapshot().metadata.configuration["primary-key"] == "id"
    spark.sql(f"INSERT INTO {name} VALUES (1, 1)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 2)")
    assert rows(spark, f"SELECT * FROM {name}") == [(1, 2)]


def test_checks_hold_for_every_write(spark, table, table_path):
    name, using = table
    spark.sql(f"CREATE TABLE {name} (id INT, n INT, CONSTRAINT positive CHECK (n > 0)) {using}")
    made = open_log(open_store(table_path)).snapshot()
    assert "checkConstraints" in made.protocol.writer_features
    assert "checkConstraints" not in made.protocol.reader_features
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, NULL)")
    bad = spark.createDataFrame([(3, -1)], "id int, n int")
    bad.createOrReplaceTempView("bad")
    writes = [
        lambda: spark.sql(f"INSERT INTO {name} VALUES (3, 0)"),
        lambda: spark.sql(f"UPDATE {name} SET n = -5 WHERE id = 1"),
        lambda: spark.sql(
            f"MERGE INTO {name} t USING bad s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
        ),
        lambda: bad.write.format("indextables").mode("append").save(table_path),
        lambda: bad.writeTo(name).append(),
    ]
    for write in writes:
        with pytest.raises(Exception, match="CHECK_CONSTRAINT_VIOLATION"):
            write()
    assert rows(spark, f"SELECT * FROM {name}") == [(1, 1), (2, None)]
    with pytest.raises(UnsupportedError, match="positive"):
        indextables.write(pa.table({"id": [4], "n": [4]}), table_path, mode="append")
    spark.catalog.dropTempView("bad")


def test_checks_are_added_and_dropped(spark, table):
    name, using = table
    spark.sql(f"CREATE TABLE {name} (id INT, n INT) {using}")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1)")
    with pytest.raises(Exception, match=r"CHECK_CONSTRAINT|violat"):
        spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT big CHECK (n > 10)")
    spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT small CHECK (n < 10)")
    with pytest.raises(Exception, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(f"INSERT INTO {name} VALUES (2, 10)")
    spark.sql(f"ALTER TABLE {name} DROP CONSTRAINT small")
    spark.sql(f"INSERT INTO {name} VALUES (2, 10)")
    assert rows(spark, f"SELECT id FROM {name}") == [(1,), (2,)]


@pytest.mark.parametrize("constraint", ["UNIQUE (n)", "FOREIGN KEY (n) REFERENCES other (id)"])
def test_other_constraints_are_refused(spark, table, constraint):
    name, using = table
    with pytest.raises(Exception, match=r"CONSTRAINT_UNSUPPORTED|TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"CREATE TABLE {name} (id INT, n INT, {constraint}) {using}")
    assert not spark.catalog.tableExists(name)
