"""A store that takes requests and never answers."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from indextables.config.settings import resolve
from indextables.errors import StorageError
from indextables.storage import open_store

OPEN = """
import json, sys
import indextables
print("started", flush=True)
try:
    indextables.open("s3://b/t", options=json.loads(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture
def silent():
    """The address of a server that keeps silent, and an event that says somebody has asked."""
    listening, held, asked = socket.create_server(("127.0.0.1", 0)), [], threading.Event()

    def accept():
        while True:
            try:
                held.append(listening.accept()[0])
            except OSError:
                return
            asked.set()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
    listening.close()
    for connection in held:
        connection.close()


def options(endpoint: str, **more: str) -> dict[str, str]:
    given = {"aws.accessKey": "a", "aws.secretKey": "b", "aws.region": "r"}
    return given | {"s3.endpoint": endpoint} | {f"cloud.{k}": v for k, v in more.items()}


def test_an_interrupt_is_heard_while_a_store_keeps_silent(silent):
    endpoint, asked = silent
    given = options(endpoint, readTimeout="600000", retryTimeout="600000")
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", OPEN, json.dumps(given)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert child.stdout.readline() == "started\n"
        assert asked.wait(60)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == "interrupted\n"
    finally:
        child.kill()
        child.wait()


def test_the_error_names_the_limits_when_a_store_keeps_silent(silent):
    endpoint, _ = silent
    settings = resolve(options(endpoint, readTimeout="200", maxRetries="1"))
    with pytest.raises(StorageError, match=r"cloud.readTimeout \(200ms\).*cloud.maxRetries \(1\)"):
        open_store("s3://b/t", settings, {}).get("a")


def test_the_error_says_that_there_are_no_credentials_when_nobody_gives_any(silent):
    endpoint, _ = silent
    settings = resolve({"s3.endpoint": endpoint, "cloud.maxRetries": "0"})
    # a machine that is not in Amazon's cloud has nobody to ask for its role
    environ = {"AWS_METADATA_ENDPOINT": "http://127.0.0.1:9"}
    with pytest.raises(StorageError, match="none were found in") as caught:
        open_store("s3://b/t", settings, environ).get("a")
    assert caught.value.code == "STORAGE_CREDENTIALS"
    assert "127.0.0.1:9" not in str(caught.value)
