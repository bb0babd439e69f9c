"""One cluster for all tests of this folder; each module runs its own application on it."""

from __future__ import annotations

import pytest
from tests.cluster.driver import driver
from tests.cluster.standalone import standalone


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A master and three workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def application(cluster, tmp_path_factory):
    """An application with an executor on every worker."""
    with driver(cluster.url, tmp_path_factory.mktemp("application")) as found:
        yield found
