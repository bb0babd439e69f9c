"""Stores under test: a folder, memory, MinIO, Azurite and HDFS run the same tests."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.stores import hadoop, signing
from tests.stores.proxy import Proxy
from tests.stores.servers import (
    AZURE_ACCOUNT,
    AZURITE,
    MINIO,
    Server,
    azure_key,
    azurite,
    minio,
    minio_with_own_certificate,
)

from indextables.config.settings import Settings, resolve
from indextables.storage import Store, open_store

BUCKET = "tables"
# secrets that must not appear in any file, message or log
ACCESS_KEY = "PLANTEDACCESSKEY"
SECRET_KEY = "planted-secret-key-of-s3"
AZURE_KEY = azure_key("planted-account-key-of-azure")
_numbers = itertools.count()


@dataclass(frozen=True)
class Place:
    """A store under test: the root of its tables, and its settings."""

    kind: str
    root: str
    options: dict[str, str]
    server: Server | None = None

    @property
    def settings(self) -> Settings:
        return resolve(self.options)

    def table(self, **options: str) -> Store:
        """Open a new, empty table location."""
        return open_store(f"{self.root}/t{next(_numbers)}", resolve(self.options | options))

    def again(self, store: Store) -> Store:
        """Open another store at the same location."""
        return open_store(store.url, self.settings)


@pytest.fixture(scope="session")
def minio_server(tmp_path_factory):
    if not MINIO.is_file():
        pytest.skip(f"no {MINIO}: run `make servers`")
    with minio(tmp_path_factory.mktemp("minio"), ACCESS_KEY, SECRET_KEY) as server:
        signing.make_bucket(server.endpoint, BUCKET, ACCESS_KEY, SECRET_KEY)
        yield server


@pytest.fixture
def proxy(minio_server):
    """A proxy in front of MinIO: it counts requests and fails those that the test selects."""
    proxy = Proxy(minio_server.port)
    yield proxy
    proxy.close()


@pytest.fixture(scope="session")
def azurite_server(tmp_path_factory):
    if not AZURITE.exists():
        pytest.skip(f"no {AZURITE}: run `make servers`")
    with azurite(tmp_path_factory.mktemp("azurite"), AZURE_KEY) as server:
        signing.make_container(server.endpoint, BUCKET, AZURE_ACCOUNT, AZURE_KEY)
        yield server


@pytest.fixture(scope="session")
def s3(minio_server) -> Place:
    return s3_place(minio_server)


def s3_place(server: Server) -> Place:
    options = {
        "aws.accessKey": ACCESS_KEY,
        "aws.secretKey": SECRET_KEY,
        "aws.region": "us-east-1",
        "s3.endpoint": server.endpoint,
    }
    return Place("s3", f"s3a://{BUCKET}", options, server)


@pytest.fixture(scope="session")
def azure(azurite_server) -> Place:
    options = {
        "azure.accountKey": AZURE_KEY,
        "azure.endpoint": f"{azurite_server.endpoint}/{AZURE_ACCOUNT}",
    }
    root = f"abfss://{BUCKET}@{AZURE_ACCOUNT}.dfs.core.windows.net"
    return Place("azure", root, options, azurite_server)


@pytest.fixture(scope="session")
def hadoop_cluster(tmp_path_factory):
    if not hadoop.MINICLUSTER.is_file():
        pytest.skip(f"no {hadoop.MINICLUSTER}: run `make servers`")
    with hadoop.start(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def hdfs(hadoop_cluster) -> Place:
    return Place("hdfs", f"hdfs://{hadoop.SERVICE}/tables", hadoop_cluster.keys)


@pytest.fixture(params=["local", "memory", "s3", "azure", "hdfs"])
def place(request, tmp_path) -> Place:
    if request.param == "local":
        return Place("local", str(tmp_path), {})
    if request.param == "memory":
        return Place("memory", "memory://tests", {})
    return request.getfixturevalue(request.param)


@pytest.fixture
def own_minio(tmp_path):
    """A separate server that the test may kill."""
    if not MINIO.is_file():
        pytest.skip(f"no {MINIO}: run `make servers`")
    with minio(Path(tmp_path), ACCESS_KEY, SECRET_KEY) as server:
        signing.make_bucket(server.endpoint, BUCKET, ACCESS_KEY, SECRET_KEY)
        yield server


@pytest.fixture
def tls_minio(tmp_path):
    if not MINIO.is_file() or not shutil.which("openssl"):
        pytest.skip(f"no {MINIO} or no openssl")
    with minio_with_own_certificate(Path(tmp_path), ACCESS_KEY, SECRET_KEY) as server:
        yield server
