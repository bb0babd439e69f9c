"""The two paths of a read: in the planner process, and by tasks on executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import currently_in_test_context, note
from tests.oracle.compare import multiset
from tests.oracle.rows import write_parquet

# the name of the expected rows
TRUTH = "truth"
PATHS: dict[str, dict[str, str]] = {
    "planner": {"read.local.maxBytes": "9223372036854775807", "read.local.maxRows": "2000000000"},
    "executors": {"read.local.enabled": "false"},
}


def load(spark: Any, table: str, path: str) -> Any:
    """Load the table so that it is read on one path."""
    frame = spark.read.format("indextables").options(**PATHS[path]).load(table)
    shown = frame._jdf.queryExecution().executedPlan().toString()
    expected = {"planner": "answered by: planner", "executors": "answered by: tasks"}[path]
    assert expected in shown, shown
    return frame


def make_views(spark: Any, truth: Any, table: str, prefix: str) -> dict[str, str]:
    """Make three views of the same rows: the expected rows, and the table read on both paths."""
    frames = {TRUTH: truth, **{path: load(spark, table, path) for path in PATHS}}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(f"{prefix}_{name}")
    return {name: f"{prefix}_{name}" for name in frames}


def write_views(spark: Any, folder: Path, rows: int, seed: int) -> dict[str, str]:
    """Write generated rows to Parquet, and to a table of three splits; read it on both paths."""
    write_parquet(folder / "pq", rows=rows, seed=seed)
    frame = spark.read.parquet(str(folder / "pq"))
    frame.repartition(3).write.format("indextables").save(str(folder / "table"))
    return make_views(spark, frame, str(folder / "table"), f"seed_{seed}")


def check(spark: Any, views: dict[str, str], statement: str) -> None:
    """Run a statement over the expected rows and on both paths; the answers must be equal."""
    if currently_in_test_context():
        note(statement)
    grouped = "GROUP BY" in statement or " AS a0" in statement
    answers = {}
    for name, view in views.items():
        # the expected rows are the same without code generation, and faster
        spark.conf.set("spark.sql.codegen.wholeStage", name != TRUTH)
        rows = spark.sql(statement.replace("{t}", view)).collect()
        answers[name] = multiset(rows, one_zero=grouped)
    for path in PATHS:
        assert answers[path] == answers[TRUTH], f"{path}: {statement}"
