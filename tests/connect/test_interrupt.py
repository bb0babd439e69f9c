"""A client interrupts a query that waits for a silent store: the planner stops waiting."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.spark
PATIENCE_S = 400


def test_an_interrupted_query_gives_up_its_request(remote):
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as pool:
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

        def ask() -> None:
            remote.addTag("silent")
            table.collect()

        asking = pool.submit(ask)
        connection = silent.accept()[0]
        connection.settimeout(PATIENCE_S)
        assert connection.recv(4).startswith(b"GET")
        remote.interruptTag("silent")
        with pytest.raises(Exception, match="OPERATION_CANCELED"):
            asking.result(PATIENCE_S)
        while connection.recv(4096):  # until the planner closes it
            pass
        connection.close()
