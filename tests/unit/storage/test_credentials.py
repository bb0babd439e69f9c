"""Credentials from the user's own code."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta

import pytest

from indextables.errors import StorageError
from indextables.storage.address import Kind
from indextables.storage.credentials import Provider, fetch

calls: list[tuple] = []
KEYS = {"access_key_id": "AK", "secret_access_key": "SK"}


def give(url, options):
    calls.append((url, options))
    ends = datetime.fromtimestamp(1000, UTC) + timedelta(hours=1)
    return KEYS | {"session_token": f"token {len(calls)}", "expires_at": ends}


class Given:
    made = 0

    def __init__(self, url, options):
        Given.made += 1
        self.options = options

    def __call__(self):
        return KEYS | {"session_token": self.options["databricks.apiToken"]}


def fail(url, options):
    msg = f"cannot sign in with {options}"
    raise RuntimeError(msg)


def expired(url, options):
    return KEYS | {"expires_at": 1.0}


def nothing(url, options):
    return {"access_key_id": "AK"}


def name(target):
    return f"{__name__}.{target.__name__}"


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_the_provider_is_asked_again_when_credentials_near_their_end():
    calls.clear()
    clock = Clock()
    provider = Provider(name(give), "s3://b/t", Kind.S3, {"aws.region": "r"}, clock)
    assert provider.credentials().values["session_token"] == "token 1"
    clock.now += 3200
    assert provider.credentials().values["session_token"] == "token 1"
    assert calls == [("s3://b/t", {"aws.region": "r"})]
    clock.now += 101
    assert clock.now < 1000 + 3600
    assert provider.credentials().values["session_token"] == "token 2"


def test_an_object_is_made_once_when_the_provider_is_a_class():
    spec = {
        "name": name(Given), "url": "s3://b/t", "kind": "s3",
        "properties": {"databricks.apiToken": "T"},
    }  # fmt: skip
    first, second = (json.loads(fetch(json.dumps(spec))) for _ in range(2))
    assert first == second == {"values": KEYS | {"session_token": "T"}, "renew_at_ms": None}
    assert Given.made == 1


@pytest.mark.parametrize("target", ["fail", "expired", "nothing", "not_there"])
def test_an_error_names_the_provider_and_no_secret_when_it_fails(target, caplog):
    caplog.set_level(logging.DEBUG)
    provider = Provider(
        f"{__name__}.{target}", "s3://b/t", Kind.S3, {"aws.secretKey": "hush"}, Clock()
    )
    with pytest.raises(StorageError) as caught:
        provider.credentials()
    assert caught.value.code == "STORAGE_CREDENTIALS"
    assert target in str(caught.value)
    assert caught.value.__cause__ is None
    assert "hush" not in str(caught.value) + caplog.text


def test_a_jvm_class_is_refused_when_named_as_provider():
    provider = Provider("com.example.Provider", "s3://b/t", Kind.S3, {})
    with pytest.raises(StorageError, match=r"Java classes are not supported.*Python"):
        provider.credentials()
