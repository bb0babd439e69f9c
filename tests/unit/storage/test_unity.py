"""Temporary credentials from a server with Unity Catalog's documented requests."""

from __future__ import annotations

import logging

import pytest
from tests.stores.catalog import Catalog

from indextables.config.settings import resolve
from indextables.errors import StorageError
from indextables.storage import unity
from indextables.storage.address import Kind
from indextables.storage.connection import plan_connection
from indextables.storage.credentials import Provider

AWS = {
    "aws_temp_credentials": {
        "access_key_id": "planted-key",
        "secret_access_key": "planted-secret",
        "session_token": "planted-session",
    }
}
URL = "s3://bucket/table"


@pytest.fixture
def catalog(monkeypatch):
    monkeypatch.setattr(unity, "_FIRST_PAUSE_SECONDS", 0.001)
    unity._tokens.clear()
    with Catalog(AWS) as server:
        yield server


def options(catalog, **more):
    given = {
        "databricks.workspaceUrl": catalog.url,
        "databricks.oauth.allowInsecure": "true",
        "databricks.apiToken": catalog.token,
    }
    return given | {key.replace("_", "."): value for key, value in more.items()}


def provider(catalog, given=None, kind=Kind.S3, now=None):
    arguments = (unity.PROVIDER, URL, kind, given or options(catalog))
    return Provider(*arguments, now) if now else Provider(*arguments)


def test_the_catalog_is_asked_for_the_path_when_a_token_is_given(catalog):
    found = provider(catalog).credentials().values
    assert found == AWS["aws_temp_credentials"]
    assert catalog.requests == [{"url": URL, "operation": "PATH_READ_WRITE"}]


def test_a_client_signs_in_once_when_there_is_no_token(catalog):
    given = options(catalog)
    del given["databricks.apiToken"]
    given |= {
        "databricks.clientId": catalog.client[0],
        "databricks.clientSecret": catalog.client[1],
    }
    for _ in range(2):
        assert provider(catalog, given).credentials().values == AWS["aws_temp_credentials"]
    assert catalog.sign_ins == [{"grant_type": "client_credentials", "scope": "all-apis"}]
    assert len(catalog.requests) == 2


def test_credentials_to_read_are_enough_when_the_catalog_grants_no_more(catalog):
    catalog.forbidden = {"PATH_READ_WRITE"}
    provider(catalog).credentials()
    assert [each["operation"] for each in catalog.requests] == ["PATH_READ_WRITE", "PATH_READ"]
    given = options(catalog) | {"databricks.credential.operation": "path_read"}
    provider(catalog, given).credentials()
    assert catalog.requests[-1]["operation"] == "PATH_READ"


@pytest.mark.parametrize(("minutes", "held"), [("40", 1200), ("10", 3000), ("90", 3240)])
def test_credentials_are_replaced_before_they_end(catalog, minutes, held):
    import time

    start = time.time()
    clock = [start]
    given = options(catalog) | {"databricks.credential.refreshBuffer.minutes": minutes}
    requested = provider(catalog, given, now=lambda: clock[0])
    requested.credentials()
    clock[0] = start + held - 30
    requested.credentials()
    assert len(catalog.requests) == 1
    clock[0] = start + held + 30
    requested.credentials()
    assert len(catalog.requests) == 2


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        (Kind.AZURE, {"azure_user_delegation_sas": {"sas_token": "s"}}, {"sas_token": "s"}),
        (Kind.AZURE, {"azure_aad": {"aad_token": "a"}}, {"bearer_token": "a"}),
        (Kind.GOOGLE, {"gcp_oauth_token": {"oauth_token": "g"}}, {"bearer_token": "g"}),
    ],
)
def test_every_cloud_has_its_own_credentials(catalog, kind, given, wanted):
    catalog.credentials = given
    assert provider(catalog, kind=kind).credentials().values == wanted


def test_a_busy_catalog_is_asked_again(catalog):
    catalog.busy = 3
    assert provider(catalog).credentials().values == AWS["aws_temp_credentials"]


@pytest.mark.parametrize(
    "change",
    [
        {"databricks.apiToken": "planted-wrong-token"},
        {"databricks.apiToken": "", "databricks.clientId": "planted-client"},
        {"databricks.workspaceUrl": "http://127.0.0.1:9", "databricks.retry.attempts": "0"},
        {"databricks.oauth.allowInsecure": "false"},
    ],
)
def test_the_error_says_what_is_wrong_and_no_secret(catalog, change, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StorageError, match="Unity Catalog") as caught:
        provider(catalog, options(catalog) | change).credentials()
    assert caught.value.code == "STORAGE_CREDENTIALS"
    assert "planted" not in str(caught.value) + caplog.text


def test_the_catalog_is_used_when_no_other_credentials_are_given():
    given = {"databricks.workspaceUrl": "https://w", "databricks.apiToken": "hush"}
    connection = plan_connection(URL, resolve(given), {"AWS_ACCESS_KEY_ID": "x"})
    assert connection.provider == unity.PROVIDER
    assert connection.properties["databricks.workspaceUrl"] == "https://w"
    assert "hush" not in repr(connection)
    keys = {"aws.accessKey": "a", "aws.secretKey": "b"}
    assert plan_connection(URL, resolve(given | keys), {}).provider is None
    own = {"cloud.credentialsProvider": "my.own"}
    assert plan_connection(URL, resolve(given | own), {}).provider == "my.own"
