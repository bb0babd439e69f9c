"""Spark shows settings in its UI and event log: no secret may be readable there."""

from __future__ import annotations

import re

import pytest

from indextables.config.registry import OPTIONS
from indextables.spark import session


@pytest.fixture
def pattern(monkeypatch, tmp_path):
    jar = tmp_path / "hooks.jar"
    jar.touch()
    monkeypatch.setattr(session, "JAR", jar)
    return lambda given=None: session.spark_conf(given)["spark.redaction.regex"]


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.secret], ids=lambda o: o.key)
def test_a_key_is_hidden_when_it_is_a_secret(option, pattern):
    assert re.search(pattern(), option.full_key)
    assert re.search(pattern(), option.key)


def test_what_the_user_hides_stays_hidden_when_ours_is_added(pattern):
    joined = pattern({"spark.redaction.regex": "mine"})
    assert re.search(joined, "mine")
    assert re.search(joined, "spark.indextables.azure.accountKey")
    assert not re.search(joined, "spark.indextables.aws.region")
