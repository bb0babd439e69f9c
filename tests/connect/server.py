"""Spark Connect and SQL servers in separate processes, on free local ports."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark
from tests.stores.servers import free_port, wait_for_port

from indextables.spark.session import spark_conf

HOME = Path(pyspark.__file__).parent
_PATIENCE_S = 240


def environment() -> dict[str, str]:
    """The environment for Spark's scripts: this interpreter, and nothing of a running session."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return {**kept, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(HOME)}


def settings(folder: Path) -> dict[str, str]:
    """The settings of a server: the two of IndexTables, and its own folders."""
    return {
        **spark_conf(),
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


@contextlib.contextmanager
def spark_server(folder: Path, main: str, port: int, conf: Mapping[str, str]):
    """Run a Spark server until the end of the block."""
    command = [str(HOME / "bin" / "spark-submit")]
    given = {**settings(folder), **conf}
    command += [part for key, value in given.items() for part in ("--conf", f"{key}={value}")]
    command += ["--class", main, "spark-internal"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment(), cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait_for_port(process, port, folder / "server.log")
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(_PATIENCE_S)


@contextlib.contextmanager
def connect_server(folder: Path, more: Mapping[str, str] | None = None):
    """Run a Connect server until the end of the block; its address."""
    port, prefix = free_port(), "spark.connect.grpc.binding"
    conf = {**(more or {}), f"{prefix}.address": "127.0.0.1", f"{prefix}.port": str(port)}
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with spark_server(folder, main, port, conf):
        yield f"sc://127.0.0.1:{port}"


@contextlib.contextmanager
def thrift_server(folder: Path):
    """Run a SQL server until the end of the block; its JDBC address."""
    port, prefix = free_port(), "spark.hive.server2.thrift"
    conf = {f"{prefix}.bind.host": "127.0.0.1", f"{prefix}.port": str(port)}
    main = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    with spark_server(folder, main, port, conf):
        yield f"jdbc:hive2://127.0.0.1:{port}/"
