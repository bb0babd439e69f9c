"""Credentials from every source on real servers, and where they must not appear."""

from __future__ import annotations

import gzip
import json
import logging
import pickle
import time
import traceback

import pytest
from tests.stores import sample_provider
from tests.stores.conftest import ACCESS_KEY, AZURE_KEY, SECRET_KEY, Place
from tests.stores.servers import AZURE_ACCOUNT
from tests.stores.test_engine import SCHEMA as ARROW_SCHEMA
from tests.stores.test_engine import rows, write
from tests.stores.test_log import SCHEMA, append

from indextables.config.settings import resolve
from indextables.engine.split import Split
from indextables.engine.store import open_store as open_native
from indextables.errors import IndexTablesError, StorageError
from indextables.log import open_log
from indextables.read.spec import ReadSpec
from indextables.save.splits import WriteSpec
from indextables.spark.request import Request
from indextables.storage import open_store

SECRETS = (SECRET_KEY, ACCESS_KEY, AZURE_KEY, "planted-wrong-key", "planted-token")


def place_of(kind, request, name):
    real = request.getfixturevalue(kind)
    if kind == "s3":
        options = {"aws.region": "us-east-1", "s3.endpoint": real.server.endpoint}
        options |= {"databricks.clientId": ACCESS_KEY, "databricks.clientSecret": SECRET_KEY}
    else:
        options = {"azure.endpoint": f"{real.server.endpoint}/{AZURE_ACCOUNT}"}
        options |= {"databricks.clientSecret": AZURE_KEY}
    options["cloud.credentialsProvider"] = f"tests.stores.sample_provider.{name}"
    return Place(kind, real.root, options, real.server)


def works(store):
    """Check that both clients work."""
    assert store.put("a", b"1")
    info = write(store, "splits/a.split", rows(0, 5))
    footer = (info.footer_start, info.footer_end)
    split = Split(open_native(*store.native()), "splits/a.split", footer, schema=ARROW_SCHEMA)
    return split.count() == 5 and store.get("a") == b"1"


def test_a_function_gives_the_keys_once_when_both_clients_ask(request):
    sample_provider.calls.clear()
    store = place_of("s3", request, "keys").table()
    assert works(store)
    assert sample_provider.calls == [store.url]


def test_the_function_is_asked_again_when_keys_are_about_to_expire(request):
    sample_provider.calls.clear()
    store = place_of("s3", request, "short").table()
    deadline = time.monotonic() + 30
    while len(sample_provider.calls) < 4 and time.monotonic() < deadline:
        assert works(store)
    assert len(sample_provider.calls) >= 4


def test_a_class_gives_the_key_when_the_store_is_azure(request):
    assert works(place_of("azure", request, "AccountKey").table())


def test_the_error_says_what_failed_and_no_secret_when_the_provider_fails(request):
    store = place_of("s3", request, "broken").table()
    for attempt in (lambda: store.get("a"), lambda: write(store, "splits/a.split", rows(0, 1))):
        with pytest.raises(StorageError) as caught:
            attempt()
        text = "".join(traceback.format_exception(caught.value))
        assert caught.value.code == "STORAGE_CREDENTIALS"
        assert "ConnectionError" in str(caught.value)
        assert not [secret for secret in SECRETS if secret in text]


def test_keys_come_from_hadoop_when_only_spark_knows_them(s3):
    hadoop = {
        "spark.hadoop.fs.s3a.access.key": ACCESS_KEY,
        "spark.hadoop.fs.s3a.secret.key": SECRET_KEY,
        "spark.hadoop.fs.s3a.endpoint": s3.server.endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    assert works(open_store(f"{s3.root}/hadoop", resolve(session=hadoop), {}))


def test_keys_come_from_the_environment_when_nobody_else_has_any(s3):
    environment = {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_ENDPOINT_URL": s3.server.endpoint,
    }
    assert works(open_store(f"{s3.root}/environment", resolve(), environment))


def test_explicit_keys_work_when_the_environment_has_other_ones(s3, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "planted-token")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert works(s3.table())


def test_a_connection_string_works_when_the_store_is_azure(azure):
    text = (
        f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
        f"BlobEndpoint={azure.server.endpoint}/{AZURE_ACCOUNT};"
    )
    settings = resolve({"azure.connectionString": text})
    assert works(open_store("azure://tables/connection", settings, {}))


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_no_secret_is_in_files_messages_or_logs_when_a_table_is_used(kind, request, caplog, capfd):
    caplog.set_level(0)
    logging.getLogger("indextables").setLevel(1)
    place = request.getfixturevalue(kind)
    options = {"transaction.compression.enabled": "false", "state.compression": "none"}
    settings = resolve(place.options | options)
    store = open_store(f"{place.root}/secrets", settings)
    log = open_log(store, settings)
    log.create(SCHEMA)
    for number in range(11):
        append(log, f"s{number}")
    write(store, "splits/a.split", rows(0, 50))
    shown = [repr(store), repr(settings), json.dumps(settings.describe()), repr(log.snapshot())]
    shown += [caplog.text, *capfd.readouterr()]
    files = {meta.path: store.get(meta.path) for meta in store.list("")}
    assert len(files) > 13
    for data in files.values():
        shown.append(data.decode("latin1"))
        if data.startswith(b"\x1f\x8b"):
            shown.append(gzip.decompress(data).decode())
    assert not [secret for secret in SECRETS for text in shown if secret in text]


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_no_secret_is_in_the_error_when_the_server_refuses_the_key(kind, request, caplog):
    caplog.set_level(0)
    place = request.getfixturevalue(kind)
    wrong = "cGxhbnRlZC13cm9uZy1rZXk=" if kind == "azure" else "planted-wrong-key"
    store = place.table(**{"azure.accountKey": wrong, "aws.secretKey": wrong})
    native = open_native(*store.native())
    attempts = [
        lambda: store.get("a"),
        lambda: store.put("a", b"", if_absent=True),
        lambda: list(store.list("")),
        lambda: Split(native, "splits/a.split", (0, 10), schema=ARROW_SCHEMA).count(),
        lambda: write(store, "splits/a.split", rows(0, 1)),
    ]
    for attempt in attempts:
        with pytest.raises(IndexTablesError) as caught:
            attempt()
        text = "".join(traceback.format_exception(caught.value)) + caplog.text
        assert "splits/a.split" in text or "/t" in text
        assert not [secret for secret in (*SECRETS, wrong) if secret in text]


def test_no_secret_shows_when_what_travels_to_executors_is_printed(s3):
    url, options = s3.table().native()
    assert SECRET_KEY in options
    settings = s3.settings
    values = [
        ReadSpec((url, options), settings, "{}", (), ARROW_SCHEMA, ()),
        WriteSpec(url, options, "{}", (), (), settings),
        Request({"session": {"spark.indextables.aws.secretKey": SECRET_KEY}}),
    ]
    for value in values:
        assert not [secret for secret in SECRETS if secret in repr(value)]
        assert pickle.loads(pickle.dumps(value)) == value
