"""A log is untrusted: no path in it may lead a reader outside the table."""

from __future__ import annotations

import json

import pytest
from tests.stores.test_log import SCHEMA

from indextables.config.settings import resolve
from indextables.engine.manifests import encode_manifest
from indextables.errors import IndexTablesError
from indextables.log import AddFile, entries, names, open_log
from indextables.log.state import ManifestInfo, StateManifest
from indextables.log.statefile import encode_state
from indextables.storage import open_store

OUTSIDE = ["../secret.split", "/etc/passwd", "a/../../secret.split", "s3://other/x.split",
           "file:/etc/passwd", "file:///etc/passwd", "splits//x.split", "./x", ""]  # fmt: skip


SETTINGS = resolve({"transaction.compression.enabled": "false"})


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "table"), SETTINGS)
    (tmp_path / "secret.split").write_bytes(b"outside")
    open_log(store, SETTINGS).create(SCHEMA)
    return store


def refused(store):
    with pytest.raises(IndexTablesError) as caught:
        open_log(open_store(store.url, SETTINGS), SETTINGS).snapshot().files()
    return caught.value.code in {"STORAGE_BAD_PATH", "LOG_CORRUPT", "FILE_CORRUPT"}


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("action", ["add", "remove", "vector"])
def test_a_table_is_refused_when_its_log_names_a_path_outside(store, path, action):
    body = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1,
            "dataChange": True, "deletionTimestamp": 1}  # fmt: skip
    if action == "vector":
        vector = {"file": path, "offset": 0, "length": 1, "cardinality": 1}
        action, body = "add", body | {"path": "a.split", "deletionVector": vector}
    name = "_transaction_log/00000000000000000001.json"
    store.put(name, json.dumps({action: body}).encode())
    assert refused(store)


@pytest.mark.parametrize("path", [path for path in OUTSIDE if path])
def test_a_table_is_refused_when_a_state_lists_a_manifest_outside(store, path, tmp_path):
    entry = entries.from_adds([AddFile("splits/a.split", {}, 1, 1)])
    manifest = encode_manifest(entry, "zstd", 3)
    (tmp_path / "secret.split").write_bytes(manifest)
    state = StateManifest(1, 1, 1, 1, (ManifestInfo(path, 1),))
    store.put(names.state_file(1), encode_state(state, "zstd", 3))
    assert refused(store)
