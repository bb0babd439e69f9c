"""A log is data: whoever wrote it must not make a reader leave the table."""

from __future__ import annotations

import json

import pytest
from tests.stores.test_log import SCHEMA

from indextables.config.settings import resolve
from indextables.errors import IndexTablesError
from indextables.log import open_log
from indextables.storage import open_store

OUTSIDE = ["../secret.split", "/etc/passwd", "a/../../secret.split", "s3://other/x.split",
           "file:/etc/passwd", "file:///etc/passwd", "splits//x.split", "./x", ""]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("action", ["add", "remove"])
def test_a_table_is_refused_when_its_log_names_a_path_outside(tmp_path, path, action):
    settings = resolve({"transaction.compression.enabled": "false"})
    store = open_store(str(tmp_path / "table"), settings)
    (tmp_path / "secret.split").write_bytes(b"outside")
    open_log(store, settings).create(SCHEMA)
    body = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1,
            "dataChange": True, "deletionTimestamp": 1}  # fmt: skip
    name = "_transaction_log/00000000000000000001.json"
    store.put(name, json.dumps({action: body}).encode())
    with pytest.raises(IndexTablesError) as caught:
        open_log(open_store(store.url, settings), settings).snapshot().files()
    assert caught.value.code in {"STORAGE_BAD_PATH", "LOG_CORRUPT", "FILE_CORRUPT"}
