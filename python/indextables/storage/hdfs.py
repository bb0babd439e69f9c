"""Options of HDFS. Pure: settings, Hadoop's files and environment in, options out.

The client finds Kerberos tickets and delegation tokens where Hadoop's own client does: in the
ticket cache of the host, HADOOP_TOKEN_FILE_LOCATION, HADOOP_USER_NAME.
"""

from __future__ import annotations

from collections.abc import Mapping

from indextables.config import storage as keys
from indextables.config.settings import Settings, is_hdfs_key
from indextables.storage.address import Address
from indextables.storage.hadoop_files import hadoop_files

# distinguishes these options from those of other stores
_OPTION = "hadoop."
# the default port of a name node
_PORT = 8020


def hdfs_options(
    address: Address, settings: Settings, environ: Mapping[str, str]
) -> dict[str, str]:
    """The options of a name node or name service: the keys of Hadoop's client."""
    found = {key: value for key, value in hadoop_files(environ).items() if is_hdfs_key(key)}
    found |= {key: value.reveal() for key, value in settings.hdfs.items()}
    known = _patience(settings) | found | _name_node(address.bucket, found)
    return {_OPTION + key: value for key, value in known.items()}


def _patience(settings: Settings) -> dict[str, str]:
    """The timeouts, unless Hadoop's own keys set them."""
    return {
        "dfs.client.socket-timeout": str(settings.get(keys.READ_TIMEOUT_MS)),
        "dfs.client.failover.max.attempts": str(settings.get(keys.MAX_RETRIES)),
        "dfs.client.failover.sleep.base.millis": "100",
        "dfs.client.failover.sleep.max.millis": "5000",
    }


def _name_node(authority: str, found: Mapping[str, str]) -> dict[str, str]:
    """A single name node without a port, as a name service with one node."""
    if ":" in authority or f"dfs.ha.namenodes.{authority}" in found:
        return {}
    address = found.get(f"dfs.namenode.rpc-address.{authority}", f"{authority}:{_PORT}")
    return {
        f"dfs.ha.namenodes.{authority}": "nn",
        f"dfs.namenode.rpc-address.{authority}.nn": address,
    }
