"""The log of planner calls as lines of JSON."""

from __future__ import annotations

import json

import pytest

from indextables.spark import call_log
from indextables.spark.planner import PROTOCOL, dispatch

ENABLED = {"spark.indextables.log.calls": "true", "spark.app.id": "app-1"}


@pytest.fixture(autouse=True)
def fresh():
    """Recreate the log handler, which writes to standard error as it is at first use."""
    call_log._logger.cache_clear()
    yield
    logger = call_log._logger()
    logger.handlers.clear()
    call_log._logger.cache_clear()


def call(operation: str, session: dict[str, str], **body: object) -> None:
    dispatch(operation, json.dumps({"protocol": PROTOCOL, "session": session, **body}))


def test_a_call_is_one_line(capfd, spark, table_path):
    spark.range(3).write.format("indextables").save(table_path)
    capfd.readouterr()
    call("load", ENABLED, properties={"path": table_path}, query="17")
    (line,) = [text for text in capfd.readouterr().err.splitlines() if text.startswith("{")]
    entry = json.loads(line)
    assert entry.pop("time_unix_nano") > 0
    assert entry.pop("duration_ms") >= 0
    assert entry == {"name": "indextables.planner.load", "application": "app-1", "query": "17",
                    "table": table_path, "version": 1}  # fmt: skip


def test_a_failure_has_its_code(capfd, tmp_path):
    call("require", ENABLED, properties={"path": str(tmp_path / "none")})
    (line,) = [text for text in capfd.readouterr().err.splitlines() if text.startswith("{")]
    assert json.loads(line)["error"] == "TABLE_NOT_FOUND"


def test_nothing_is_logged_unless_asked_for(capfd):
    call("ping", {})
    call("ping", ENABLED | {"spark.indextables.log.calls": "false"})
    assert capfd.readouterr().err == ""


@pytest.mark.spark
def test_a_call_carries_the_id_of_its_query(spark, planner):
    context = spark.sparkContext
    context.setLocalProperty("spark.sql.execution.id", "4711")
    try:
        document = planner("echo").json().get("document")
    finally:
        context.setLocalProperty("spark.sql.execution.id", None)
    assert document.get("query").asText() == "4711"
