"""Predicates that Spark has no V2 name for are pushed down if the index can evaluate them."""

from __future__ import annotations

import pytest

LOCAL = "spark.indextables.read.local.enabled"


@pytest.fixture(scope="module")
def names(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pushable")
    rows = spark.sql(
        "SELECT id, named_struct('city', concat('c', id)) AS at,"
        " if(id % 9 = 0, NULL, concat('host-', id % 13, '_', repeat('x', id % 3))) AS host,"
        " concat('line ', id, '\\n100% done') AS message,"
        " if(id % 4 = 0, NULL, array('a', concat('t', id % 5), if(id % 3 = 0, NULL, 'b'))) AS tags"
        " FROM range(0, 200, 1, 2)"
    )
    rows.write.parquet(str(folder / "parquet"))
    writer = rows.write.format("indextables").option("indexing.typemap.message", "text")
    writer.save(str(folder / "table"))
    spark.read.format("indextables").load(str(folder / "table")).createOrReplaceTempView("ours")
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("theirs")


CONDITIONS = [
    "host LIKE 'host-1_\\_x%'",
    "host LIKE '%-_!_%' ESCAPE '!'",
    "NOT host LIKE '%1%x'",
    "message LIKE '%1_\\n100\\% d%e'",
    "at.city LIKE 'c1_'",
    "host RLIKE '^host-1[0-2]_x+$'",
    "host RLIKE '(?i)HOST-3'",
    "array_contains(tags, 't3')",
    "NOT array_contains(tags, 'b')",
    "host LIKE 'host%x' OR array_contains(tags, 't1')",
    "host LIKE id",
]


@pytest.mark.parametrize("local", ["true", "false"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_rows_and_counts_equal_parquet(spark, names, condition, local):
    spark.conf.set(LOCAL, local)
    for sql in (f"SELECT id FROM @ WHERE {condition}", f"SELECT count(*) FROM @ WHERE {condition}"):
        ours, theirs = (
            sorted(row[0] for row in spark.sql(sql.replace("@", view)).collect())
            for view in ("ours", "theirs")
        )
        assert ours == theirs
    spark.conf.unset(LOCAL)


@pytest.mark.parametrize(
    "condition", ["host LIKE 'h_st%x'", "array_contains(tags, 't3')", "host RLIKE 'x+$'"]
)
def test_spark_has_nothing_left_to_filter(spark, names, condition):
    plan = spark.sql(f"SELECT id FROM ours WHERE {condition}")._jdf.queryExecution().toString()
    physical = plan[plan.index("== Physical Plan ==") :]
    assert "Filter" not in physical
