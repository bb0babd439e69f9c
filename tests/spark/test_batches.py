"""Batches of Python workers go to Spark as columns: no operator sees a value change or vanish."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.oracle.compare import multiset
from tests.oracle.paths import PATHS
from tests.processes import below, python_workers

from indextables.spark.read_task import while_wanted

ROWS = 3000
# every string is unique, so the next batch does not have it
COLUMNS = (
    "id",
    "concat('text ', reverse(CAST(id * 7919 AS STRING)), repeat('x', INT(id % 50))) AS text",
    "IF(id % 7 = 0, NULL, array(CAST(id AS STRING), 'b')) AS list",
    "named_struct('a', id, 'b', CAST(id AS STRING)) AS pair",
    "CAST(id AS STRING) AS key",
)
STATEMENTS = (
    # Spark keeps these across batches: the index cannot evaluate the predicate
    "SELECT max(text), min(text), max(key) FROM {t} WHERE hash(id) % 3 <> 1",
    "SELECT max_by(text, id), min_by(list, text) FROM {t} WHERE hash(id) % 3 <> 1",
    "SELECT id % 5, max(text), sort_array(collect_list(key)) FROM {t} GROUP BY 1",
    "SELECT * FROM (SELECT *, lag(text) OVER (ORDER BY id) AS before FROM {t})",
    "SELECT a.text, b.list FROM {t} a JOIN {t} b ON a.key = b.pair.b",
    "SELECT /*+ MERGE(b) */ a.text, b.pair FROM {t} a JOIN {t} b ON a.text = b.text",
    "SELECT id, explode(list), text FROM {t}",
    "SELECT text, pair.b FROM {t} ORDER BY text LIMIT 1000",
    "SELECT DISTINCT substr(text, 1, 7) FROM {t}",
    "SELECT * FROM {t} WHERE text IN (SELECT text FROM {t} WHERE hash(id) % 2 = 0)",
)


@pytest.fixture(scope="module")
def views(spark: Any, tmp_path_factory: Any) -> tuple[str, str]:
    """Views of the same rows in a table that is read in many small batches, and in Parquet."""
    root = tmp_path_factory.mktemp("batches")
    rows = spark.range(0, ROWS, 1, 2).selectExpr(*COLUMNS)
    rows.write.format("indextables").save(str(root / "table"))
    rows.write.parquet(str(root / "parquet"))
    small = {**PATHS["executors"], "read.batchRows": "100"}
    table = spark.read.format("indextables").options(**small).load(str(root / "table"))
    table.createOrReplaceTempView("batches_table")
    spark.read.parquet(str(root / "parquet")).createOrReplaceTempView("batches_parquet")
    return "batches_table", "batches_parquet"


@pytest.mark.parametrize("statement", STATEMENTS)
def test_values_outlive_their_batch(spark, views, statement):
    found, expected = (spark.sql(statement.replace("{t}", v)) for v in views)
    assert multiset(found.collect()) == multiset(expected.collect())
    assert "ColumnarToRow" in found._jdf.queryExecution().executedPlan().toString()


def test_code_that_is_not_generated_reads_them_too(spark, views):
    statement = "SELECT max(text), count(list), sum(pair.a) FROM {t} WHERE hash(id) % 3 <> 1"
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        found, expected = (spark.sql(statement.replace("{t}", v)).collect() for v in views)
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")
    assert found == expected


def test_more_columns_than_code_is_generated_for(spark, table_path):
    rows = spark.range(0, 250, 1, 2).selectExpr(
        "id", *(f"concat('{n} ', id) AS c{n}" for n in range(150))
    )
    rows.write.format("indextables").save(table_path)
    reader = spark.read.format("indextables").options(**PATHS["executors"])
    table = reader.option("read.batchRows", "20").load(table_path)
    assert multiset(table.where("hash(id) % 3 <> 1").collect()) == multiset(
        rows.where("hash(id) % 3 <> 1").collect()
    )


def test_a_cached_table_keeps_its_rows(spark, views):
    table, parquet = (spark.table(v).select("id", "text", "list") for v in views)
    cached = table.where("hash(id) % 3 <> 1").cache()
    try:
        expected = multiset(parquet.where("hash(id) % 3 <> 1").collect())
        assert multiset(cached.collect()) == expected
        assert multiset(cached.collect()) == expected
    finally:
        cached.unpersist()


def test_a_worker_whose_rows_are_enough_is_used_again(spark, views):
    table = spark.table(views[0]).where("hash(id) % 3 <> 1")
    assert len(table.limit(3).collect()) == 3
    before = python_workers(below(os.getpid()))
    for _ in range(5):
        assert len(table.limit(3).collect()) == 3
    assert python_workers(below(os.getpid())) == before


def test_enough_for_one_scan_of_a_task_is_not_enough_for_another(spark, views):
    few = "(SELECT id FROM {t} WHERE hash(id) % 3 <> 1 LIMIT 3)"
    all_rows = "SELECT count(text) FROM {t} WHERE hash(id) % 3 <> 4"
    statement = f"SELECT (SELECT count(*) FROM {few}), ({all_rows}), count(*) FROM {few}"
    assert spark.sql(statement.replace("{t}", views[0])).collect() == [(3, ROWS, 3)]


def test_a_file_that_vanishes_costs_no_rows(tmp_path):
    batches = [pa.record_batch({"n": [n]}) for n in range(3)]
    gone, empty, ended = (tmp_path / name for name in ("gone", "empty", "ended"))
    empty.write_text("")
    ended.write_text("enough")
    found = [list(while_wanted(file, iter(batches))) for file in (gone, empty, ended)]
    assert found == [batches, batches, batches[:1]]


def test_no_file_of_a_task_stays(spark, views):
    # the files of this session only: other sessions may have been killed
    root = Path(spark._jvm.org.apache.spark.sql.indextables.Scratch.folder().toString())
    before = set(root.glob("*.json"))
    table = spark.table(views[0]).where("hash(id) % 3 <> 1")
    assert len(table.limit(3).collect()) == 3
    assert table.count() < ROWS
    new = set(root.glob("*.json")) - before
    end = time.monotonic() + 20  # a task that is no longer needed ends by itself
    while any(file.exists() for file in new):
        assert time.monotonic() < end, new
        time.sleep(0.05)


def test_what_is_wrong_with_rows_nobody_wants_fails_nothing(spark, table_path):
    spark.range(0, 2000, 1, 1).write.format("indextables").save(table_path)
    spark.range(2000, 2001, 1, 1).write.format("indextables").mode("append").save(table_path)
    options = {**PATHS["executors"], "read.batchRows": "100", "read.splitsPerTask": "2"}
    table = spark.read.format("indextables").options(**options).load(table_path)
    table = table.where("hash(id) % 3 <> 1")
    splits = sorted(Path(table_path).rglob("*.split"), key=lambda file: file.stat().st_size)
    splits[0].unlink()
    assert len(table.limit(3).collect()) == 3
    with pytest.raises(Exception, match=splits[0].name):
        table.collect()
