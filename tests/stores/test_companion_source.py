"""A source in a separate bucket: its credentials and those of the index are never mixed."""

from __future__ import annotations

import io
import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from tests.stores import signing
from tests.stores.proxy import Proxy
from tests.stores.servers import MINIO, minio

import indextables
from indextables.config.option import PREFIX
from indextables.config.settings import resolve
from indextables.errors import IndexTablesError
from indextables.sources.open import SourceName, open_source
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.storage import open_store

BUCKET, USER, SECRET = "source", "PLANTEDSOURCEKEY", "planted-secret-key-of-the-source"


@pytest.fixture(scope="module")
def source_server(tmp_path_factory):
    if not MINIO.is_file():
        pytest.skip(f"no {MINIO}: run `make servers`")
    with minio(tmp_path_factory.mktemp("source"), USER, SECRET) as server:
        signing.make_bucket(server.endpoint, BUCKET, USER, SECRET)
        yield server


def rows(*numbers):
    return pa.table({"id": pa.array(numbers, pa.int64()), "message": [f"word{n}" for n in numbers]})


def keys(server):
    return {"aws.accessKey": USER, "aws.secretKey": SECRET, "s3.endpoint": server.endpoint}


def build(kind, place, index, session):
    text = (
        f"BUILD INDEXTABLES COMPANION FOR {kind} 's3://{BUCKET}/{place}' "
        f"INDEXING MODES ('message':'text') AT LOCATION '{index}'"
    )
    session = {PREFIX + key: value for key, value in session.items()}
    (done,) = execute(text, LocalContext(session)).to_pylist()
    return done


def own(server, prefix="companion.parquet."):
    return {prefix + key: value for key, value in keys(server).items()}


def write_delta(server, place, table):
    options = {
        "aws_access_key_id": USER,
        "aws_secret_access_key": SECRET,
        "aws_endpoint": server.endpoint,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    write_deltalake(f"s3://{BUCKET}/{place}", table, mode="append", storage_options=options)


def test_a_look_at_a_delta_table_is_one_request(source_server):
    for number in range(3):
        write_delta(source_server, "looked-at", rows(number))
    place = f"s3://{BUCKET}/looked-at"
    proxy = Proxy(source_server.port)
    try:
        given = {**keys(source_server), "s3.endpoint": proxy.endpoint}
        source = open_source(SourceName("delta", place), resolve(given))
        first = source.look()
        proxy.requests.clear()
        assert source.look() == first
        assert len(proxy.requests) == 1
        write_delta(source_server, "looked-at", rows(3))
        newer = source.look()
        assert len(proxy.requests) == 2
        assert [source.at(mark).version for mark in (first, newer)] == ["2", "3"]
        # another table at the same location
        store = open_store(place, resolve(keys(source_server)))
        store.delete([meta.path for meta in store.list("")])
        for number in range(3):
            write_delta(source_server, "looked-at", rows(number))
        assert source.look() not in (first, newer)
    finally:
        proxy.close()


@pytest.mark.parametrize("kind", ["PARQUET", "DELTA"])
def test_source_and_index_have_their_own_keys(kind, source_server, s3, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    there = f"{kind.lower()}-1"
    if kind == "PARQUET":
        file = io.BytesIO()
        pq.write_table(rows(1, 2), file)
        store = open_store(f"s3://{BUCKET}/{there}", resolve(keys(source_server)))
        store.put("a.parquet", file.getvalue())
    else:
        write_delta(source_server, there, rows(1, 2))
    session = {**s3.options, **own(source_server)}
    index = s3.table().url
    assert build(kind, there, index, session)["status"] == "success"
    table = indextables.open(index, options=session)
    assert table.search("word2", ["id"])["id"].to_pylist() == [2]
    assert sorted(table.scan()["message"].to_pylist()) == ["word1", "word2"]
    output = caplog.text + "".join(capfd.readouterr()) + repr(table) + str(table.properties)
    output += str(table.explain(query="word2")) + repr(table._table)
    for secret in (USER, SECRET):
        assert secret not in output
    log = open_store(index, s3.settings)
    for meta in log.list(""):
        data = log.get(meta.path)
        assert USER.encode() not in data, meta.path
        assert SECRET.encode() not in data, meta.path


def test_without_keys_of_its_own_the_source_is_asked_with_those_of_the_index(source_server, s3):
    session = {**s3.options, "companion.parquet.s3.endpoint": source_server.endpoint}
    with pytest.raises(IndexTablesError) as failed:
        build("PARQUET", "parquet-1", s3.table().url, session)
    assert "403" in str(failed.value)
    for secret in s3.options.values():
        assert secret not in str(failed.value) or "://" in secret


def test_a_key_of_the_index_never_goes_along_with_those_of_the_source(source_server, s3):
    from indextables.sources.credentials import source_settings

    for prefix in ("companion.parquet.", "companion."):
        given = {f"{prefix}aws.accessKey": USER, f"{prefix}aws.secretKey": SECRET}
        more = {"aws.sessionToken": "of the index", "azure.accountName": "index"}
        found = source_settings(resolve({**s3.options, **given, **more}))
        shown = {key: value for key, value in found.values.items() if key.startswith("aws.")}
        assert {key: getattr(v, "reveal", lambda v=v: v)() for key, v in shown.items()} == {
            "aws.accessKey": USER,
            "aws.secretKey": SECRET,
            "aws.region": "us-east-1",
        }
        assert found.values["azure.accountName"] == "index"
