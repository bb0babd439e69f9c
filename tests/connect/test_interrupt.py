"""When a client interrupts a query of a store that never answers, the planner stops waiting."""

from __future__ import annotations

import socket
import threading
from contextlib import closing

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark
PATIENCE_S = 120


def test_an_interrupted_query_gives_up_its_request(remote):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_S)
        options = {
            "s3.endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "aws.accessKey": "a",
            "aws.secretKey": "b",
            "aws.region": "r",
            "cloud.readTimeout": "600000",
            "cloud.retryTimeout": "600000",
        }
        table = remote.read.format("indextables").options(**options).load("s3://b/interrupted")
        failures: list[str] = []

        def ask() -> None:
            remote.addTag("silent")
            try:
                table.collect()
            except PySparkException as failure:
                failures.append(str(failure))

        # a daemon thread, so that a query that is never interrupted ends with this test
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        with closing(silent.accept()[0]) as connection:
            connection.settimeout(PATIENCE_S)
            assert connection.recv(4).startswith(b"GET")
            remote.interruptTag("silent")
            asking.join(PATIENCE_S)
            assert len(failures) == 1
            assert "OPERATION_CANCELED" in failures[0]
            while connection.recv(4096):  # blocks until the planner closes it
                pass
