"""The configuration keys that an HDFS client gets."""

from __future__ import annotations

import pytest

from indextables.config.settings import resolve
from indextables.errors import StorageError
from indextables.storage.connection import plan_connection
from indextables.storage.hadoop_files import hadoop_files

SITE = """<configuration>
<property><name>ships.host</name><value>${env.SHIPS}.example</value></property>
<property><name>dfs.ha.namenodes.Ships</name><value>nn0,nn1</value></property>
<property><name>dfs.namenode.rpc-address.Ships.nn0</name><value>${ships.host}:1</value></property>
<property><name>dfs.client.socket-timeout</name><value>5</value></property>
<property><name>dfs.web.keystore.password</name><value>hush</value></property>
<property><name>unknown</name><value>${nobody.knows}</value></property>
</configuration>"""


@pytest.fixture
def environ(tmp_path):
    (tmp_path / "hdfs-site.xml").write_text(SITE)
    return {"HADOOP_CONF_DIR": str(tmp_path), "SHIPS": "harbour"}


def keys(url, settings=None, environ=None):
    config = plan_connection(url, settings or resolve(), environ or {}).config
    return {k.removeprefix("hadoop."): v for k, v in config.items()}


def test_variables_of_the_files_are_replaced(environ):
    found = hadoop_files(environ)
    assert found["dfs.namenode.rpc-address.Ships.nn0"] == "harbour.example:1"
    assert found["unknown"] == "${nobody.knows}"
    home = environ["HADOOP_CONF_DIR"]
    assert hadoop_files({"HADOOP_HOME": home}) == {}


def test_files_and_settings_are_laid_over_each_other(environ):
    session = {"spark.hadoop.dfs.client.socket-timeout": "7", "spark.hadoop.fs.s3a.x": "y"}
    found = keys("hdfs://Ships/t", resolve(session=session), environ)
    assert found["dfs.ha.namenodes.Ships"] == "nn0,nn1"
    assert found["dfs.client.socket-timeout"] == "7"
    assert not [key for key in found if key.startswith("fs.s3a") or "password" in key]


def test_patience_comes_from_our_keys_when_hadoop_says_nothing():
    settings = resolve({"cloud.readTimeout": "1234", "cloud.maxRetries": "2"})
    found = keys("hdfs://nn:8020/t", settings)
    assert found["dfs.client.socket-timeout"] == "1234"
    assert found["dfs.client.failover.max.attempts"] == "2"
    assert not [key for key in found if "rpc-address" in key]


def test_a_name_node_without_a_port_has_the_usual_one():
    found = keys("hdfs://nn.example/t")
    assert found["dfs.ha.namenodes.nn.example"] == "nn"
    assert found["dfs.namenode.rpc-address.nn.example.nn"] == "nn.example:8020"
    named = resolve(session={"spark.hadoop.dfs.namenode.rpc-address.solo": "other:9"})
    assert keys("hdfs://solo/t", named)["dfs.namenode.rpc-address.solo.nn"] == "other:9"


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "core-site.xml").write_text("<configuration>")
    with pytest.raises(StorageError, match=r"core-site\.xml"):
        hadoop_files({"HADOOP_CONF_DIR": str(tmp_path)})
