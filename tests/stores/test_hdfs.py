"""Tables in a real HDFS: name services, failover, configuration, unfinished files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.stores import hadoop
from tests.stores.test_engine import rows, write
from tests.stores.test_log import SCHEMA, add

import indextables
from indextables.config.settings import resolve
from indextables.errors import StorageError
from indextables.log import Operation, Transaction, open_log
from indextables.storage import find_location, open_store

ROWS = pa.table({"id": list(range(100)), "message": [f"request {i} done" for i in range(100)]})


@pytest.fixture
def configured(hadoop_cluster, tmp_path):
    """A folder with the configuration files of a Hadoop client."""
    keys = {"fs.defaultFS": f"hdfs://{hadoop.SERVICE}"} | hadoop_cluster.keys
    properties = [
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in keys.items()
    ]
    (tmp_path / "core-site.xml").write_text(f"<configuration>{properties[0]}</configuration>")
    (tmp_path / "hdfs-site.xml").write_text(
        f"<configuration>{''.join(properties[1:])}</configuration>"
    )
    return {"HADOOP_CONF_DIR": str(tmp_path), "HADOOP_USER_NAME": "me"}


def test_a_table_is_written_changed_and_searched(hdfs):
    url = f"{hdfs.root}/searched"
    options = hdfs.options | {"indexing.typemap.message": "text"}
    indextables.write(ROWS, url, options=options)
    indextables.write(ROWS, url, mode="append", options=options)
    table = indextables.open(url, options=options)
    assert table.count() == 200
    assert table.search("42", ["id"]).column("id").to_pylist() == [42, 42]
    assert table.scan(["id"], "id = 7").num_rows == 2


def test_the_address_may_be_that_of_a_name_node(hdfs, hadoop_cluster):
    store = hdfs.table()
    store.put("a/b", b"here")
    path = store.url.removeprefix(f"hdfs://{hadoop.SERVICE}")
    direct = open_store(f"hdfs://127.0.0.1:{hadoop_cluster.port(0)}{path}")
    assert direct.get("a/b") == b"here"


def test_requests_go_to_the_other_name_node_when_it_becomes_active(hdfs, hadoop_cluster):
    store = hdfs.table()
    log = open_log(store, hdfs.settings)
    log.create(SCHEMA)
    hadoop_cluster.fail_over(1)
    try:
        log.commit(Transaction(Operation.APPEND, 0, (add("a"),)))
        info = write(store, "splits/b.split", rows(0, 10))
        assert store.head("splits/b.split").size == info.size
    finally:
        hadoop_cluster.fail_over(0)
    again = open_log(hdfs.again(store), hdfs.settings)
    assert again.snapshot().version == 1


def test_the_files_of_hadoop_configure_a_client(hdfs, hadoop_cluster, configured, monkeypatch):
    store = hdfs.table()
    store.put("a", b"configured")
    path = store.url.removeprefix(f"hdfs://{hadoop.SERVICE}")
    for given in (path, f"hdfs:{path}", f"hdfs://{path}", store.url):
        found = find_location(given, environ=configured)
        assert found == store.url
        assert open_store(found, environ=configured).get("a") == b"configured"
    for name, value in configured.items():
        monkeypatch.setenv(name, value)
    hadoop_cluster.make_home("me")
    indextables.write(ROWS, "home-table")
    assert indextables.open(f"hdfs://{hadoop.SERVICE}/user/me/home-table").count() == 100


def test_what_was_not_completed_is_not_there(hdfs):
    store = hdfs.table(**{"s3.multipartThreshold": "1M", "s3.partSize": "5M"})
    store.put("splits/a.split", b"")
    assert not store.put("splits/a.split", b"other", if_absent=True)
    with pytest.raises(StorageError):
        store.put("splits/a.split/below", b"a file is not a folder")
    assert [meta.path for meta in store.list("")] == ["splits/a.split"]


WRITE = """
import json, os, sys
from indextables.config.settings import resolve
from indextables.storage import open_store
store = open_store(sys.argv[1], resolve(json.loads(sys.argv[2])))
store.put("before", b"1")
child = os.fork()
if child == 0:
    # connections and threads of the parent are not in the child
    done = store.put("child", b"2", if_absent=True) and store.get("before") == b"1"
    os._exit(0 if done else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_has_a_connection_of_its_own(hdfs):
    store = hdfs.table()
    command = [sys.executable, "-W", "ignore", "-c", WRITE, store.url, json.dumps(hdfs.options)]
    found = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=Path.cwd()
    )
    assert found.stdout == "0\n", found.stderr
    assert store.get("child") == b"2"


def test_the_limits_are_named_when_no_name_node_answers():
    settings = resolve({"cloud.maxRetries": "1", "cloud.retryTimeout": "1000"})
    with pytest.raises(StorageError, match=r"refused|timed out"):
        open_store("hdfs://127.0.0.1:9/t", settings, {}).get("a")


def test_an_empty_folder_is_removed(hdfs):
    store = hdfs.table()
    store.put("state/a", b"1")
    store.put("state/b", b"2")
    store.delete(["state/a"])
    store.remove_empty("state")
    assert store.get("state/b") == b"2"
    store.delete(["state/b"])
    store.remove_empty("state")
    assert store.children("") == []
