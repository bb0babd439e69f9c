"""One call configures a session, and reports clearly what prevents it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

import indextables
from indextables import errors
from indextables.spark import session


class Builder:
    """A stand-in for `SparkSession.builder`."""

    def __init__(self, **options: str) -> None:
        self._options = {key.replace("_", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> Builder:
        self._options[key] = value
        return self


def test_jars_and_extensions_of_others_are_kept(spark):
    builder = indextables.configure(
        Builder(spark_jars="other.jar", spark_sql_extensions="com.example.Other")
    )
    assert builder._options["spark.jars"].split(",") == ["other.jar", str(session.JAR)]
    assert builder._options["spark.sql.extensions"].split(",")[0] == "com.example.Other"
    again = indextables.configure(builder)
    assert again._options["spark.jars"].count(session.JAR.name) == 1


def test_remote_builder_is_left_alone():
    builder = Builder(spark_remote="sc://host")
    assert indextables.configure(builder)._options == {"spark.remote": "sc://host"}


@pytest.mark.parametrize("version", ["3.5.4", "5.0.0"])
def test_other_spark_is_refused(version):
    with pytest.raises(errors.UnsupportedError, match=rf"Spark {version} .*4\.0 to 4\.3"):
        session.check_version(version)


@pytest.mark.parametrize("version", ["4.0.0", "4.3.0", "4.1.0.dev1"])
def test_supported_spark_passes(version):
    session.check_version(version)


def test_missing_jar_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(session, "JAR", tmp_path / "gone.jar")
    with pytest.raises(errors.UnsupportedError, match="the hooks jar is not at"):
        session.spark_conf()


def test_running_session_without_the_jar_is_said(spark, monkeypatch):
    monkeypatch.setattr(session, "JAR", session.JAR.with_name("renamed.jar"))
    with pytest.raises(errors.InvalidError, match="already running"):
        indextables.configure(SparkSession.builder)


PLAIN = """
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.python.filterPushdown.enabled", "true")
         .config("spark.log.level", "OFF").getOrCreate())
frame = spark.range(0, 20, 1, 2).selectExpr("id", "concat('row ', id) AS message")
frame.write.format("indextables").mode("append").save(sys.argv[1])
frame.write.format("indextables").mode("append").save(sys.argv[1])
frame.write.format("indextables").mode("overwrite").save(sys.argv[1])
table = spark.read.format("indextables").load(sys.argv[1])
assert table.count() == 20, table.count()
assert [r.id for r in table.where("id = 7 AND message LIKE 'row%'").collect()] == [7]
print("plain works")
"""


def test_without_the_jar_the_format_still_reads_and_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, str(tmp_path / "t")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "plain works" in done.stdout, done.stderr[-3000:]
    assert "indextables: the jar is not loaded" in done.stderr
