"""A real HDFS on loopback: name nodes and a data node in one JVM, stopped by its pid."""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError
from tests.stores import kerberos
from tests.stores.kerberos import Kerberos
from tests.stores.servers import CACHE

# Spark includes Hadoop's client; `make servers` downloads the rest of the same version
_CLIENTS = Path(pyspark.__file__).parent / "jars"
MINICLUSTER = next(
    iter(sorted((CACHE / "jars").glob("hadoop-client-minicluster-*.jar"))),
    CACHE / "jars" / "hadoop-client-minicluster.jar",
)
SERVICE = "Ships"


@dataclass
class Hadoop:
    """Two name nodes as the name service `hdfs://Ships`; the first one is active."""

    gateway: JavaGateway
    process: subprocess.Popen
    cluster: Any

    @property
    def keys(self) -> dict[str, str]:
        """The configuration of a client."""
        nodes = {
            f"dfs.namenode.rpc-address.{SERVICE}.nn{i}": f"127.0.0.1:{self.port(i)}" for i in (0, 1)
        }
        return {"dfs.nameservices": SERVICE, f"dfs.ha.namenodes.{SERVICE}": "nn0,nn1", **nodes}

    def port(self, node: int) -> int:
        return self.cluster.getNameNodePort(node)

    def fail_over(self, to: int) -> None:
        """Make the other name node active."""
        self.cluster.transitionToStandby(1 - to)
        self.cluster.transitionToActive(to)

    def make_home(self, user: str) -> None:
        """Create a folder owned by a user, as an administrator does."""
        files = self.cluster.getFileSystem(0)
        home = self.gateway.jvm.org.apache.hadoop.fs.Path(f"/user/{user}")
        files.mkdirs(home)
        files.setOwner(home, user, user)

    def owner(self, path: str) -> str:
        files = self.cluster.getFileSystem(0)
        return files.getFileStatus(self.gateway.jvm.org.apache.hadoop.fs.Path(path)).getOwner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Py4JError):
            self.gateway.shutdown()
        _kill(self.process)


def start(folder: Path, realm: Kerberos | None = None, protection: str = "") -> Hadoop:
    options = ["-Xmx384m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true"]
    if realm is not None:
        options.append(f"-Djava.security.krb5.conf={realm.environ['KRB5_CONFIG']}")
    with (folder / "hdfs.log").open("wb") as log:
        port, token, process = launch_gateway(
            classpath=f"{MINICLUSTER}:{_CLIENTS}/*",
            javaopts=options,
            jarpath=str(next(_CLIENTS.glob("py4j-*.jar"))),
            redirect_stdout=log,
            redirect_stderr=log,
            die_on_exit=True,
            return_proc=True,
            enable_auth=True,
        )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        if realm is None:
            return Hadoop(gateway, process, _cluster(gateway.jvm, folder))
        return Hadoop(gateway, process, _secure(gateway.jvm, folder, realm.keys, protection))
    except Py4JError as cause:
        # a running JVM reports what failed
        text = str(cause)
        _kill(process)
        raise RuntimeError(text) from None


def _configuration(jvm: Any, folder: Path) -> Any:
    conf = jvm.org.apache.hadoop.hdfs.HdfsConfiguration()
    conf.set("hdfs.minidfs.basedir", str(folder / "data"))
    # nothing here needs to survive a power failure
    conf.setBoolean("dfs.namenode.edits.noeditlogchannelflush", True)
    return conf


def _secure(jvm: Any, folder: Path, keytab: str, protection: str) -> Any:
    """Start one name node and one data node that require Kerberos tickets."""
    conf = _configuration(jvm, folder)
    services = {
        f"dfs.{service}.{key}": value
        for service in ("namenode", "datanode")
        for key, value in (("kerberos.principal", kerberos.HOST), ("keytab.file", keytab))
    }
    more = {
        "dfs.web.authentication.kerberos.principal": kerberos.WEB,
        "dfs.web.authentication.kerberos.keytab": keytab,
        "dfs.block.access.token.enable": "true",
        "ignore.secure.ports.for.testing": "true",
    }
    for key, value in (services | more | secure_keys(protection)).items():
        conf.set(key, value)
    users = jvm.org.apache.hadoop.security.UserGroupInformation
    users.setConfiguration(conf)
    users.loginUserFromKeytab(kerberos.HOST, keytab)
    builder = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(conf)
    cluster = builder.numDataNodes(1).checkDataNodeAddrConfig(False).build()
    cluster.waitActive()
    return cluster


def secure_keys(protection: str) -> dict[str, str]:
    """The configuration of clients and servers of a secure cluster."""
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        "dfs.data.transfer.protection": protection,
        "dfs.namenode.kerberos.principal": kerberos.HOST,
    }


def _cluster(jvm: Any, folder: Path) -> Any:
    conf = _configuration(jvm, folder)
    topology = jvm.org.apache.hadoop.hdfs.MiniDFSNNTopology.simpleHATopology()
    builder = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(conf)
    cluster = builder.nnTopology(topology).numDataNodes(1).build()
    cluster.waitActive()
    cluster.transitionToActive(0)
    return cluster


def _kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
