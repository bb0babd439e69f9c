"""`indextables sql` with statements that need Spark, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import indextables

pytestmark = pytest.mark.spark


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return subprocess.run(
        [sys.executable, "-m", "indextables", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=kept,
    )


@pytest.fixture
def table(table_path) -> str:
    rows = pa.table({"id": [1, 2], "message": ["timeout of pay", "cart"]})
    indextables.write(rows, table_path, options={"indexing.typemap.message": "text"})
    return table_path


def test_a_query_runs_in_spark(table):
    statement = "SELECT id, current_date() AS today FROM logs WHERE message indexquery 'timeout'"
    done = run("sql", statement, "--table", f"logs={table}", "--json")
    assert done.returncode == 0, done.stderr[-2000:]
    (row,) = json.loads(done.stdout)
    assert row["id"] == 1


def test_a_wrong_query_is_one_message_and_code_1(table):
    done = run("sql", "SELECT nothing FROM logs", "--table", f"logs={table}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: [STATEMENT_FAILED] [UNRESOLVED_COLUMN" in done.stderr
    assert "Traceback" not in done.stderr
