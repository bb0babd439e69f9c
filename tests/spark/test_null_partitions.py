"""Rows without a partition value are found, changed and replaced like any other."""

from __future__ import annotations

import itertools

import pytest

VALUES = {
    "string": "(1, 100, 'hr'), (2, 200, NULL), (3, 300, 'it'), (4, 400, '')",
    "int": "(1, 100, 1), (2, 200, NULL), (3, 300, 2), (4, 400, 0)",
}
CONDITIONS = {
    "string": ["dep <=> NULL", "NOT (dep <=> 'hr')", "dep IS DISTINCT FROM NULL", "dep = ''"],
    "int": ["dep IS NULL AND salary * 2 <> 0", "coalesce(dep, 1) = 1", "dep <=> NULL OR id = 1"],
}
CASES = [(kind, where) for kind in CONDITIONS for where in CONDITIONS[kind]]
FOLDERS = itertools.count()
IDS = {1, 2, 3, 4}


@pytest.fixture(params=["planner", "executors"])
def path(request, spark):
    """Both paths of a read."""
    key = "spark.indextables.read.local.enabled"
    spark.conf.set(key, str(request.param == "planner").lower())
    yield request.param
    spark.conf.unset(key)


@pytest.fixture
def make(spark, tmp_path):
    """Make a table of four rows, partitioned by a column that is null in one of them."""

    def made(kind: str) -> str:
        location = str(tmp_path / f"table{next(FOLDERS)}")
        writer = rows(spark, kind).write.format("indextables")
        writer.partitionBy("dep").save(location)
        return location

    return made


def rows(spark, kind: str, where: str = "true"):
    return spark.sql(f"SELECT * FROM VALUES {VALUES[kind]} AS t(id, salary, dep) WHERE {where}")


def ids(spark, location: str, where: str = "true") -> set[int]:
    found = spark.sql(f"SELECT id FROM indextables.`{location}` WHERE {where}").collect()
    assert len(found) == len({row.id for row in found})
    return {row.id for row in found}


@pytest.mark.parametrize(("kind", "where"), CASES)
def test_rows_are_found_and_changed(spark, make, path, kind, where):
    expected = {row.id for row in rows(spark, kind, where).collect()}
    table = make(kind)
    assert ids(spark, table, where) == expected
    spark.sql(f"UPDATE indextables.`{table}` SET salary = -1 WHERE {where}")
    assert ids(spark, table, "salary = -1") == expected
    assert ids(spark, table) == IDS
    table = make(kind)
    merge = f"MERGE INTO indextables.`{table}` t USING (SELECT 1 AS x) s ON {where}"
    spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET salary = -1")
    assert ids(spark, table, "salary = -1") == expected
    assert ids(spark, table) == IDS
    spark.sql(f"DELETE FROM indextables.`{table}` WHERE {where}")
    assert ids(spark, table) == IDS - expected


@pytest.mark.parametrize(
    "where", ["dep <=> NULL", "dep IS NOT DISTINCT FROM NULL", "NOT (dep IS DISTINCT FROM 'hr')"]
)
def test_partitions_are_replaced_and_dropped(spark, make, where):
    expected = {row.id for row in rows(spark, "string", where).collect()}
    table = make("string")
    new = rows(spark, "string", where).selectExpr("id + 10 AS id", "salary", "dep")
    writer = new.write.format("indextables").mode("overwrite")
    writer.option("replaceWhere", where).save(table)
    assert ids(spark, table) == (IDS - expected) | {i + 10 for i in expected}
    done = spark.sql(f"DROP INDEXTABLES PARTITIONS FROM '{table}' WHERE {where}").first()
    assert done.status == "success", done.message
    assert ids(spark, table) == IDS - expected


def test_dynamic_overwrite_replaces_the_partition_without_a_value(spark, make):
    table = make("string")
    new = spark.sql("SELECT 9 AS id, 0 AS salary, cast(NULL AS STRING) AS dep")
    writer = new.write.format("indextables").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").save(table)
    assert ids(spark, table) == {1, 3, 4, 9}
    assert ids(spark, table, "dep IS NULL") == {9}


def test_a_join_prunes_by_the_values_of_the_other_side(spark, make, path):
    table = make("int")
    spark.sql("SELECT * FROM VALUES (1), (NULL) AS t(dep)").createOrReplaceTempView("chosen_deps")
    joined = spark.sql(f"""SELECT t.id FROM indextables.`{table}` t JOIN chosen_deps c
        ON t.dep = c.dep""")
    assert {row.id for row in joined.collect()} == {1}
    same = spark.sql(f"""SELECT t.id FROM indextables.`{table}` t JOIN chosen_deps c
        ON t.dep <=> c.dep""")
    assert {row.id for row in same.collect()} == {1, 2}
