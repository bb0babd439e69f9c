"""A Spark Connect server that all tests of this folder share."""

from __future__ import annotations

import pytest
from tests.connect.server import connect_server


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The address of the server."""
    with connect_server(tmp_path_factory.mktemp("connect")) as found:
        yield found


@pytest.fixture(scope="session")
def remote(address):
    """A client session next to a classic one, which `SparkSession.builder` does not allow."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(address).create()
    yield session
    session.stop()
