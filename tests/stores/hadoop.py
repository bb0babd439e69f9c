"""A real HDFS on loopback: name nodes and a data node in one JVM, stopped by its own pid."""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError
from tests.stores.servers import CACHE

# Spark has Hadoop's client; this is the rest of the same version, fetched by `make servers`
_CLIENTS = Path(pyspark.__file__).parent / "jars"
MINICLUSTER = next(
    iter(sorted((CACHE / "jars").glob("hadoop-client-minicluster-*.jar"))),
    CACHE / "jars" / "hadoop-client-minicluster.jar",
)
SERVICE = "Ships"


@dataclass
class Hadoop:
    """Two name nodes, the first of them active, known as `hdfs://Ships`."""

    gateway: JavaGateway
    process: subprocess.Popen
    cluster: Any

    @property
    def keys(self) -> dict[str, str]:
        """What a client has to know."""
        nodes = {
            f"dfs.namenode.rpc-address.{SERVICE}.nn{i}": f"127.0.0.1:{self.port(i)}" for i in (0, 1)
        }
        return {"dfs.nameservices": SERVICE, f"dfs.ha.namenodes.{SERVICE}": "nn0,nn1", **nodes}

    def port(self, node: int) -> int:
        return self.cluster.getNameNodePort(node)

    def fail_over(self, to: int) -> None:
        """Another name node becomes the active one."""
        self.cluster.transitionToStandby(1 - to)
        self.cluster.transitionToActive(to)

    def make_home(self, user: str) -> None:
        """A folder that belongs to a user, as an administrator makes it."""
        files = self.cluster.getFileSystem(0)
        home = self.gateway.jvm.org.apache.hadoop.fs.Path(f"/user/{user}")
        files.mkdirs(home)
        files.setOwner(home, user, user)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Py4JError):
            self.gateway.shutdown()
        _kill(self.process)


def start(folder: Path) -> Hadoop:
    options = ["-Xmx384m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true"]
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
        return Hadoop(gateway, process, _cluster(gateway.jvm, folder))
    except Py4JError as cause:
        # the JVM tells what failed, as long as it lives
        text = str(cause)
        _kill(process)
        raise RuntimeError(text) from None


def _cluster(jvm: Any, folder: Path) -> Any:
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.set("hdfs.minidfs.basedir", str(folder / "data"))
    # nothing here has to outlive a power cut
    conf.setBoolean("dfs.namenode.edits.noeditlogchannelflush", True)
    topology = jvm.org.apache.hadoop.hdfs.MiniDFSNNTopology.simpleHATopology()
    builder = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(conf)
    cluster = builder.nnTopology(topology).numDataNodes(1).build()
    cluster.waitActive()
    cluster.transitionToActive(0)
    return cluster


def _kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
