from __future__ import annotations

import json

import pytest

from indextables.commands.describe_detail import run_describe_detail
from indextables.commands.describe_history import run_describe_history
from indextables.commands.describe_state import run_describe_state
from indextables.commands.describe_transaction_log import run_describe_transaction_log
from indextables.commands.environment import run_describe_environment
from indextables.config.settings import REDACTED
from indextables.log.actions import DeletionVector, SkipFile
from indextables.sql import commands as c
from indextables.sql.outputs import OUTPUTS


@pytest.fixture
def table(make):
    made = make(("day",))
    made.commit(made.put("a", 10), made.put("b", 20))
    vector = DeletionVector("index/index-0-0", 1, 22, 2)
    made.commit(made.put("c", 30, deletion_vector=vector))
    return made


def test_detail_counts_live_rows(table):
    row = run_describe_detail(table.open())[0]
    assert set(row) == set(OUTPUTS[c.DescribeDetail].names)
    assert (row["version"], row["num_files"], row["size_in_bytes"]) == (2, 3, 60)
    assert (row["num_records"], row["num_deleted_records"]) == (13, 2)
    assert json.loads(row["partition_columns"]) == ["day"]
    assert row["min_reader_version"] == 5
    assert "deletionVectors" in json.loads(row["table_features"])
    assert "docMappingSchema" not in row["properties"]


def test_history_is_newest_first(table):
    rows = run_describe_history(table.open(), None)
    assert [row["version"] for row in rows] == [2, 1, 0]
    assert [row["operation"] for row in rows] == ["APPEND", "APPEND", "CREATE TABLE"]
    assert rows[0]["is_blind_append"] is True
    assert rows[0]["timestamp"] > rows[2]["timestamp"]
    assert [row["version"] for row in run_describe_history(table.open(), 1)] == [2]


def test_log_shows_every_action(table):
    skip = SkipFile("x", 1, "broken", "merge", 2, 3)
    table.commit(skip)
    rows = run_describe_transaction_log(table.open(), include_all=True)
    kinds = [row["action_type"] for row in rows]
    assert kinds.count("add") == 3
    assert kinds.count("protocol") == 2
    assert kinds.count("skip") == 1
    assert {row["version"] for row in rows} == {0, 1, 2, 3}
    assert all(set(row) <= set(OUTPUTS[c.DescribeTransactionLog].names) for row in rows)
    added = next(row for row in rows if row["action_type"] == "add")
    assert json.loads(added["partition_values"]) == {"day": "2024-01-01"}
    assert added["log_file_path"].endswith("_transaction_log/00000000000000000001.json")
    skipped = next(row for row in rows if row["action_type"] == "skip")
    assert (skipped["skip_reason"], skipped["skip_count"]) == ("broken", 3)


def test_state_says_when_there_is_no_checkpoint(table):
    row = run_describe_state(table.open())[0]
    assert (row["format"], row["status"]) == ("none", "No checkpoint found")
    assert set(row) == set(OUTPUTS[c.DescribeState].names)


def test_environment_hides_secrets(make):
    session = {
        "spark.indextables.aws.secretKey": "hush",
        "spark.hadoop.fs.s3a.access.key": "hush",
        "spark.app.name": "shown",
        "spark.some.token": "hush",
    }
    rows = run_describe_environment(make(session=session).door)
    assert "hush" not in str(rows)
    found = {(row["property_type"], row["property_name"]): row["property_value"] for row in rows}
    assert found["spark", "spark.app.name"] == "shown"
    assert found["hadoop", "fs.s3a.access.key"] == REDACTED
    assert ("native_memory", "indextables.version") in found
    assert {row["role"] for row in rows} == {"driver"}
