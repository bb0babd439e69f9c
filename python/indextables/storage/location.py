"""Open the store of a location: local folders, memory, S3, Azure, Google, HDFS."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping

from indextables.config.settings import Settings
from indextables.storage.address import Kind, qualify
from indextables.storage.connection import plan_connection
from indextables.storage.hadoop_files import hadoop_files
from indextables.storage.memory import memory_folder
from indextables.storage.store import Store


def open_store(
    url: str, settings: Settings | None = None, environ: Mapping[str, str] | None = None
) -> Store:
    """The store rooted at a table's location. Nothing is read, written or connected yet.

    Without a scheme the location is a local path. `memory://name` lives as long as the process.
    """
    connection = plan_connection(
        url, settings or Settings(), os.environ if environ is None else environ
    )
    address = connection.address
    if address.kind is Kind.MEMORY:
        return Store(address.url, (memory_folder(address.prefix), "{}"))
    return Store(address.url, connection.native())


def find_location(
    path: str, settings: Settings | None = None, environ: Mapping[str, str] | None = None
) -> str:
    """Resolve a path given without Spark as Spark would.

    Hadoop's `fs.defaultFS` applies if it is set, also in the files of HADOOP_CONF_DIR; otherwise
    paths without a scheme are local.
    """
    environ = os.environ if environ is None else environ
    given = (settings or Settings()).hadoop.get("fs.defaultfs")
    default = given.reveal() if given else hadoop_files(environ).get("fs.defaultFS", "file:///")
    if default.startswith("file:") or path.startswith("file:"):
        return path
    user = environ.get("HADOOP_USER_NAME") or getpass.getuser()
    return qualify(path, f"{default.rstrip('/')}/user/{user}")
