"""The one call between the hooks and Python."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import AnalysisException
from tests.processes import kill

from indextables import errors
from indextables.runtime.host_files import host_folder
from indextables.spark.failures import translate_errors
from indextables.spark.planner import PROTOCOL, dispatch


def pid_of(planner) -> int:
    return planner("ping").json().get("pid").asInt()


def test_one_planner_process_takes_all_calls_also_at_the_same_time(planner):
    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(lambda _: pid_of(planner), range(12)))
    assert len(answers) == 1


def test_another_planner_answers_when_the_first_was_killed(spark, planner, table_path):
    spark.range(7).write.format("indextables").save(table_path)
    before = pid_of(planner)
    kill(before)
    assert spark.read.format("indextables").load(table_path).count() == 7
    assert pid_of(planner) != before


def test_only_this_user_can_reach_the_planner(spark, planner):
    pid_of(planner)
    folder = host_folder(spark.sparkContext.applicationId, "planner")
    assert folder.parent.parent.stat().st_mode & 0o077 == 0
    assert [file.suffix for file in folder.iterdir()].count(".sock") >= 1


def test_document_and_parts_arrive_unchanged(planner):
    text = '{"text":"ünïcödé \\"quoted\\"","number":9007199254740993,"list":[1,null,true]}'
    reply = planner("echo", text)
    document = json.loads(reply.json().get("document").toString())
    assert {k: document[k] for k in ("text", "number", "list")} == json.loads(text)
    assert json.loads(bytes(reply.parts()[0])) == document


def test_session_settings_travel_with_every_call(spark, planner):
    spark.conf.set("spark.indextables.read.mode", "complete")
    document = json.loads(planner("echo").json().get("document").toString())
    assert document["session"]["spark.indextables.read.mode"] == "complete"
    assert document["session"]["spark.sql.session.timeZone"] == "UTC"


def test_error_is_one_line(spark):
    with pytest.raises(AnalysisException) as caught:
        spark.read.format("indextables").load()
    assert str(caught.value).startswith("[PATH_MISSING] no path was given; hint: ")
    assert "\n" not in str(caught.value)


def test_error_becomes_our_class_when_asked(spark):
    with pytest.raises(errors.InvalidError, match="no path was given"), translate_errors():
        spark.read.format("indextables").load()


def test_unknown_operation_is_refused_and_the_planner_lives_on(planner):
    before = pid_of(planner)
    with pytest.raises(Exception, match="there is no operation `nonsense`"):
        planner("nonsense")
    assert pid_of(planner) == before


def test_other_protocol_is_refused():
    answer, parts = dispatch("ping", json.dumps({"protocol": PROTOCOL + 1}))
    assert answer["error"]["code"] == "HOOKS_MISMATCH"
    assert parts == []


def test_the_copies_of_options_that_spark_adds_to_properties_are_left_out(spark):
    given = {"indexing.typemap.m": "text", "option.indexing.typemap.m": "text"}
    sent = spark._jvm.org.apache.spark.sql.indextables.Rpc.options(given)
    assert json.loads(sent.toString()) == {"indexing.typemap.m": "text"}
