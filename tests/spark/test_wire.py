"""The one call between the hooks and Python."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import AnalysisException

from indextables import errors
from indextables.spark.failures import as_ours
from indextables.spark.planner import PROTOCOL, dispatch


def test_planner_process_is_reused_between_calls(planner):
    # a second one may have been started for calls at the same time
    answers = {planner("ping").json().get("pid").asInt() for _ in range(6)}
    assert len(answers) <= 3


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
    assert str(caught.value).startswith("[PATH_MISSING] no path is given; hint: ")
    assert "\n" not in str(caught.value)


def test_error_becomes_our_class_when_asked(spark):
    with pytest.raises(errors.InvalidError, match="no path is given"), as_ours():
        spark.read.format("indextables").load()


def test_unknown_operation_is_refused_and_the_planner_lives_on(planner):
    before = planner("ping").json().get("pid").asInt()
    with pytest.raises(Exception, match="there is no operation `nonsense`"):
        planner("nonsense")
    assert planner("ping").json().get("pid").asInt() == before


def test_other_protocol_is_refused():
    answer, parts = dispatch("ping", json.dumps({"protocol": PROTOCOL + 1}))
    assert answer["error"]["code"] == "HOOKS_MISMATCH"
    assert parts == []
