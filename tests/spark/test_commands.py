"""Output of commands that exists only with Spark."""

from __future__ import annotations

import pytest

from indextables.errors import from_text

pytestmark = pytest.mark.spark


def test_environment_has_all_properties_of_driver_and_workers(spark):
    spark.conf.set("spark.my.password", "hush")
    try:
        rows = spark.sql("DESCRIBE INDEXTABLES ENVIRONMENT").collect()
    finally:
        spark.conf.unset("spark.my.password")
    assert {row.role for row in rows} == {"driver", "worker"}
    for role in ("driver", "worker"):
        found = {
            (r.property_type, r.property_name): r.property_value for r in rows if r.role == role
        }
        assert found["spark", "spark.app.name"] == "indextables tests"
        # a session setting exists only on the driver
        shown = {"driver": "***REDACTED***", "worker": None}[role]
        assert found.get(("spark", "spark.my.password")) == shown
        assert ("hadoop", "fs.file.impl") in found or ("hadoop", "io.file.buffer.size") in found
        assert int(found["native_memory", "peak_rss_bytes"]) > 0
    assert "hush" not in str(rows)
    processes = [r.property_value for r in rows if r.property_name == "process.id"]
    assert len(set(processes)) == len(processes) == 2


@pytest.mark.parametrize(
    "text",
    [
        "MERGE SPLITS some_base",
        "PURGE INDEXTABLE some_base",
        "DESCRIBE INDEXTABLES HISTORY some_base",
    ],
)
def test_a_database_is_not_a_table(spark, text):
    spark.sql("CREATE DATABASE IF NOT EXISTS some_base")
    try:
        with pytest.raises(Exception, match="some_base") as caught:
            spark.sql(text).collect()
    finally:
        spark.sql("DROP DATABASE some_base")
    assert from_text(str(caught.value)).code == "TABLE_NAME_IS_DATABASE"


def test_explain_formatted_says_what_was_pushed(spark, table_path):
    spark.range(100).write.format("indextables").save(table_path)
    frame = spark.read.format("indextables").load(table_path).where("id = 7")
    for local in ("true", "false"):
        spark.conf.set("spark.indextables.read.local.enabled", local)
        try:
            text = frame._jdf.queryExecution().explainString(
                spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
            )
        finally:
            spark.conf.unset("spark.indextables.read.local.enabled")
        assert "Pushed: " in text
        assert "id" in text.split("Pushed: ")[1].splitlines()[0]
