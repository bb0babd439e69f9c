"""Schema evolution: tables take new columns and wider types from written rows."""

from __future__ import annotations

import itertools

import pytest

NAMES = itertools.count()


@pytest.fixture(params=["path", "name"])
def target(request, spark, tmp_path):
    """A table of two rows; the value is its name in SQL."""
    rows = spark.sql("SELECT 1 AS id, 10 AS n, 'a' AS dep UNION ALL SELECT 2, 20, 'b'")
    if request.param == "path":
        path = str(tmp_path / "table")
        rows.write.format("indextables").partitionBy("dep").save(path)
        yield f"indextables.`{path}`"
        return
    name = f"evolving_{next(NAMES)}"
    rows.write.format("indextables").partitionBy("dep").saveAsTable(name)
    yield name
    spark.sql(f"DROP TABLE {name}")


def found(spark, table: str) -> list[tuple]:
    return sorted(tuple(row) for row in spark.sql(f"SELECT * FROM {table}").collect())


def view(spark, text: str) -> None:
    spark.sql(text).createOrReplaceTempView("source_rows")


def merge(spark, table: str, clauses: str, *, evolving: bool = True) -> None:
    evolution = "WITH SCHEMA EVOLUTION " if evolving else ""
    spark.sql(f"MERGE {evolution}INTO {table} t USING source_rows s ON t.id = s.id {clauses}")


def test_merge_takes_on_new_columns(spark, target):
    view(
        spark,
        "SELECT 2 AS id, 21 AS n, 'b' AS dep, true AS active UNION ALL SELECT 3, 30, 'c', false",
    )
    merge(spark, target, "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert found(spark, target) == [
        (1, 10, "a", None), (2, 21, "b", True), (3, 30, "c", False),
    ]  # fmt: skip
    assert spark.sql(f"SELECT id FROM {target} WHERE active").first().id == 2


def test_merge_without_evolution_leaves_the_columns(spark, target):
    view(spark, "SELECT 2 AS id, 21 AS n, 'b' AS dep, true AS active")
    merge(spark, target, "WHEN MATCHED THEN UPDATE SET *", evolving=False)
    assert found(spark, target) == [(1, 10, "a"), (2, 21, "b")]


def test_merge_takes_on_what_assignments_name(spark, target):
    view(spark, "SELECT 2 AS id, 'new' AS extra, 1 AS other UNION ALL SELECT 3, 'c', 2")
    merge(
        spark,
        target,
        "WHEN MATCHED THEN UPDATE SET extra = s.extra "
        "WHEN NOT MATCHED THEN INSERT (id, extra) VALUES (s.id, s.extra) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = -1",
    )
    columns = spark.table(target).columns
    assert columns[:4] == ["id", "n", "dep", "extra"]
    rows = spark.sql(f"SELECT id, n, extra FROM {target} ORDER BY id").collect()
    assert [tuple(r) for r in rows] == [(1, -1, None), (2, 20, "new"), (3, None, "c")]


def test_merge_widens_types_and_leaves_narrower_ones(spark, target):
    view(spark, "SELECT cast(2 AS short) AS id, 5000000000 AS n, 'b' AS dep")
    merge(spark, target, "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    kinds = dict(spark.table(target).dtypes)
    assert kinds["n"] == "bigint"
    assert kinds["id"] == "int"
    assert found(spark, target) == [(1, 10, "a"), (2, 5_000_000_000, "b")]


def test_merge_adds_members_of_nested_columns(spark, tmp_path):
    table = f"indextables.`{tmp_path / 'nested'}`"
    rows = spark.sql("""SELECT 1 AS id, named_struct('a', 1) AS s,
        array(named_struct('b', 1)) AS l, map('k', named_struct('c', 1)) AS m""")
    rows.write.format("indextables").save(str(tmp_path / "nested"))
    view(
        spark,
        """SELECT 2 AS id, named_struct('a', 2, 'x', 'sx') AS s,
        array(named_struct('b', 2, 'y', 'ly')) AS l,
        map('k', named_struct('c', 2, 'z', 'mz')) AS m""",
    )
    merge(spark, table, "WHEN NOT MATCHED THEN INSERT *")
    read = spark.sql(
        f"SELECT s.a, s.x, l[0].b, l[0].y, m['k'].c, m['k'].z FROM {table} ORDER BY id"
    )
    assert [tuple(row) for row in read.collect()] == [
        (1, None, 1, None, 1, None), (2, "sx", 2, "ly", 2, "mz"),
    ]  # fmt: skip


def test_insert_with_schema_evolution(spark, target):
    view(spark, "SELECT 3 AS id, 30L AS n, 'c' AS dep, 'x' AS extra")
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {target} BY NAME SELECT * FROM source_rows")
    assert found(spark, target) == [
        (1, 10, "a", None), (2, 20, "b", None), (3, 30, "c", "x"),
    ]  # fmt: skip


def test_merge_schema_on_every_way_to_append(spark, target):
    view(spark, "SELECT 3 AS id, 30L AS n, 'c' AS dep, 'x' AS extra")
    rows = spark.table("source_rows")
    rows.writeTo(target).option("mergeSchema", "true").append()
    assert spark.table(target).count() == 3
    later = spark.sql("SELECT 4 AS id, cast(40 AS decimal(24,2)) AS n, 'd' AS dep, 1 AS more")
    if target.startswith("indextables."):
        path = target.split("`")[1]
        writer = later.write.format("indextables").mode("append").option("mergeSchema", "true")
        writer.save(path)
    else:
        writer = later.write.format("indextables").mode("append").option("mergeSchema", "true")
        writer.saveAsTable(target)
    kinds = dict(spark.table(target).dtypes)
    assert (kinds["n"], kinds["extra"], kinds["more"]) == ("decimal(24,2)", "string", "int")
    assert [row.id for row in spark.sql(f"SELECT id FROM {target} WHERE n = 30").collect()] == [3]
    assert spark.sql(f"SELECT sum(n) FROM {target}").first()[0] == 100


def test_alter_column_type_widens(spark, target):
    spark.sql(f"ALTER TABLE {target} ALTER COLUMN n TYPE BIGINT")
    spark.sql(f"INSERT INTO {target} VALUES (3, 5000000000, 'c')")
    assert dict(spark.table(target).dtypes)["n"] == "bigint"
    assert found(spark, target) == [(1, 10, "a"), (2, 20, "b"), (3, 5_000_000_000, "c")]
    assert spark.sql(f"SELECT sum(n) FROM {target} WHERE n > 10").first()[0] == 5_000_000_020
    for change in ("n TYPE INT", "dep TYPE INT"):
        with pytest.raises(Exception, match=r"\["):
            spark.sql(f"ALTER TABLE {target} ALTER COLUMN {change}")


def test_a_wider_key_or_partition_column_is_refused(spark, tmp_path):
    path = str(tmp_path / "keyed")
    rows = spark.sql("SELECT 1 AS id, 1 AS p, 'a' AS name")
    rows.write.format("indextables").option("primary-key", "id").partitionBy("p").save(path)
    for change in ("1L AS id, 1 AS p", "1 AS id, 1.5D AS p"):
        wider = spark.sql(f"SELECT {change}, 'b' AS name")
        writer = wider.write.format("indextables").mode("append").option("mergeSchema", "true")
        with pytest.raises(Exception, match="SCHEMA_TYPE_CHANGE"):
            writer.save(path)
    longer = spark.sql("SELECT 2 AS id, 5000000000 AS p, 'c' AS name")
    writer = longer.write.format("indextables").mode("append").option("mergeSchema", "true")
    writer.save(path)
    read = spark.read.format("indextables").load(path)
    assert sorted(r.p for r in read.where("p >= 1").collect()) == [1, 5_000_000_000]
