from __future__ import annotations

import json

import pytest

from indextables.commands.checkpoint import run_checkpoint
from indextables.commands.describe_detail import DescribeDetail, run_describe_detail
from indextables.commands.describe_history import run_describe_history
from indextables.commands.describe_state import DescribeState, run_describe_state
from indextables.commands.describe_transaction_log import (
    DescribeTransactionLog,
    run_describe_transaction_log,
)
from indextables.commands.registry import BY_COMMAND
from indextables.config.option import PREFIX
from indextables.config.settings import REDACTED
from indextables.log import names
from indextables.log.actions import (
    DeletionVector,
    IndexFile,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
)
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

HOUR = 3_600_000


@pytest.fixture
def table(make):
    made = make(("day",))
    made.commit(made.put("a", 10), made.put("b", 20))
    vector = DeletionVector("index/index-0-0", 1, 22, 2)
    made.commit(made.put("c", 30, deletion_vector=vector))
    return made


def test_detail_counts_live_rows(table):
    row = run_describe_detail(table.open())[0]
    assert set(row) == set(BY_COMMAND[DescribeDetail].output.names)
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


def test_log_shows_what_has_no_column_in_tags(table):
    index = IndexFile({"day": "2024-01-01"}, 3, "index/index-0-1", 7, 5)
    add = table.put("d", 40, extra={"tags": {"a": "b"}, "other": 1})
    table.commit(add, index, Txn("stream", 4), UnknownAction.of("mystery", {"x": 1}))
    rows = run_describe_transaction_log(table.open(), include_all=True)
    assert {row["action_type"] for row in rows} == {"protocol", "metadata", "add", "unknown"}
    others = [row for row in rows if row["action_type"] == "unknown"]
    shown = {kind: value for row in others for kind, value in json.loads(row["tags"]).items()}
    (hashes,) = (row for row in others if row.get("path"))
    assert hashes["path"] == "index/index-0-1"
    assert shown["indexFile"] == {"type": "HASH", "bucket": 3}
    assert shown["txn"]["appId"] == "stream"
    assert shown["mystery"] == {"x": 1}
    assert shown["commitInfo"]["operation"] == "APPEND"
    added = {row["size"]: row["tags"] for row in rows if row["action_type"] == "add"}
    assert json.loads(added[30])["deletionVector"]["cardinality"] == 2
    assert json.loads(added[40]) == {"a": "b", "other": 1}
    table.open().log.checkpoint()
    kept = run_describe_transaction_log(table.open(), include_all=False)
    assert {row["action_type"] for row in kept} == {"protocol", "metadata", "add", "unknown"}


def test_state_tells_the_truth(make):
    made = make((), {f"{PREFIX}state.entriesPerManifest": "1"})
    log = made.open().log
    log.checkpoint()
    row = run_describe_state(made.open())[0]
    assert (row["format"], row["version"], row["status"]) == ("avro-state", 0, "OK")
    made.commit(*(made.put(f"f{n}", 10) for n in range(30)))
    made.open().log.checkpoint(compact="test")
    row = run_describe_state(made.open())[0]
    assert (row["num_manifests"], row["needs_compaction"]) == (30, False)
    later = made.open().now_ms() + HOUR
    gone, live = (SkipFile(p, 1, "r", "merge", later) for p in ("gone", made.paths()[0]))
    made.commit(gone, live)
    assert run_describe_state(made.open())[0]["status"] == "OK, 1 splits skipped by merges"


def test_state_follows_the_format_that_was_written_last(make):
    made = make((), {f"{PREFIX}state.entriesPerManifest": "1"})
    made.commit(made.put("a", 10), made.put("b", 10))
    for form, shown in (("avro", "avro-state"), ("json", "json-multipart"), ("avro", "avro-state")):
        made.door.session[f"{PREFIX}state.format"] = form
        made.door.logs_held.clear()
        answer = run_checkpoint(made.open(), keep=True)[0]
        assert answer["is_multi_part"] == (form == "json")
        assert run_describe_state(made.open())[0]["format"] == shown


@pytest.mark.parametrize("pointer", [None, {"version": 1}, {"version": 2, "sizeInBytes": 7}])
def test_state_of_a_json_checkpoint_does_not_depend_on_the_pointer(make, pointer):
    table = make((), {f"{PREFIX}state.format": "json", f"{PREFIX}state.entriesPerManifest": "1"})
    table.commit(table.put("a"))
    table.commit(table.put("b"))
    table.log.checkpoint()
    table.log.store.delete([names.POINTER])
    if pointer is not None:
        table.log.store.put(names.POINTER, json.dumps(pointer).encode())
    (row,) = run_describe_state(table.open())
    assert (row["format"], row["version"]) == ("json-multipart", 2)
    assert (row["num_files"], row["total_bytes"]) == (2, 20)


@pytest.mark.parametrize("include_all", [False, True])
def test_log_shows_what_a_json_checkpoint_holds(make, include_all):
    made = make((), {f"{PREFIX}state.format": "json"})
    made.commit(made.put("a"))
    made.log.checkpoint()
    made.commit(made.put("b"))
    made.log.store.delete([names.version_file(0), names.version_file(1)])
    made.log.invalidate()
    rows = run_describe_transaction_log(made.open(), include_all=include_all)
    shown = [(r["version"], r["action_type"], r["is_checkpoint"]) for r in rows]
    assert [row for row in shown if row[1] == "add"] == [(1, "add", True), (2, "add", False)]
    assert {row[1] for row in shown if row[2]} == {"protocol", "metadata", "add"}
    assert rows[0]["log_file_path"] == f"{made.path}/{names.checkpoint_file(1)}"


def test_log_shows_every_action(table):
    skip = SkipFile("x", 1, "broken", "merge", 2, 3)
    table.commit(skip)
    rows = run_describe_transaction_log(table.open(), include_all=True)
    kinds = [row["action_type"] for row in rows]
    assert kinds.count("add") == 3
    assert kinds.count("protocol") == 2
    assert kinds.count("skip") == 1
    assert {row["version"] for row in rows} == {0, 1, 2, 3}
    assert all(set(row) <= set(BY_COMMAND[DescribeTransactionLog].output.names) for row in rows)
    added = next(row for row in rows if row["action_type"] == "add")
    assert json.loads(added["partition_values"]) == {"day": "2024-01-01"}
    assert added["log_file_path"].endswith("_transaction_log/00000000000000000001.json")
    skipped = next(row for row in rows if row["action_type"] == "skip")
    assert (skipped["skip_reason"], skipped["skip_count"]) == ("broken", 3)


def test_state_says_when_there_is_no_checkpoint(table):
    row = run_describe_state(table.open())[0]
    assert (row["format"], row["status"]) == ("none", "No checkpoint found")
    assert set(row) == set(BY_COMMAND[DescribeState].output.names)


def test_environment_hides_secrets():
    session = {
        "spark.indextables.aws.secretKey": "hush",
        "spark.hadoop.fs.s3a.access.key": "hush",
        "spark.app.name": "shown",
        "spark.some.token": "hush",
    }
    rows = execute("DESCRIBE INDEXTABLES ENVIRONMENT", LocalContext(session)).to_pylist()
    assert "hush" not in str(rows)
    found = {(row["property_type"], row["property_name"]): row["property_value"] for row in rows}
    assert found["spark", "spark.app.name"] == "shown"
    assert found["hadoop", "fs.s3a.access.key"] == REDACTED
    assert ("native_memory", "indextables.version") in found
    assert {row["role"] for row in rows} == {"driver", "worker"}


@pytest.mark.parametrize("verb", ["CHECKPOINT", "COMPACT"])
def test_state_is_that_of_the_last_checkpoint_whoever_wrote_it(table, verb):
    """A checkpoint is not a commit: a process that has cached the version must check for it."""
    here, there = LocalContext(), LocalContext()
    describe = f"DESCRIBE INDEXTABLES STATE '{table.path}'"
    assert execute(describe, there).to_pylist()[0]["format"] == "none"
    written = execute(f"{verb} INDEXTABLES '{table.path}'", here).to_pylist()[0]
    found = execute(describe, there).to_pylist()[0]
    assert (found["format"], found["version"]) == ("avro-state", written["checkpoint_version"])
    assert found == execute(describe, here).to_pylist()[0]


def test_state_after_compact_has_no_removed_entries_in_any_process(table):
    session = {"spark.indextables.state.compaction.tombstoneThreshold": "0.9"}
    here, there = LocalContext(session), LocalContext(session)
    describe = f"DESCRIBE INDEXTABLES STATE '{table.path}'"
    execute(f"CHECKPOINT INDEXTABLES '{table.path}'", here)
    table.commit(RemoveFile(table.paths()[0]))
    here.log(table.path).checkpoint()
    assert execute(describe, there).to_pylist()[0]["num_tombstones"] == 1
    execute(f"COMPACT INDEXTABLES '{table.path}'", here)
    state = execute(describe, there).to_pylist()[0]
    assert (state["num_tombstones"], state["needs_compaction"]) == (0, False)
