"""A store that accepts requests and never answers."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.stores.proxy import PASS, SILENT
from tests.stores.servers import silent_server
from tests.stores.tables import make_table

from indextables.config.settings import resolve
from indextables.errors import StorageError
from indextables.spark import lines
from indextables.spark.planner import PROTOCOL
from indextables.storage import open_store

_numbers = itertools.count()
PATIENT = {"cloud.readTimeout": "600000", "cloud.retryTimeout": "600000"}
READ = """
import json, sys
import indextables
options = json.loads(sys.argv[2])
table = indextables.open(sys.argv[1], options=options)
print("started", flush=True)
try:
    {}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
WRITE = """
import json, sys
import pyarrow as pa
import indextables
print("started", flush=True)
try:
    indextables.write(pa.table({"id": [1]}), sys.argv[1], options=json.loads(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
OPEN = """
import json, sys
import indextables
print("started", flush=True)
try:
    indextables.open("s3://b/t", options=json.loads(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
SEVERAL = """
import json, sys
from indextables.config.settings import resolve
from indextables.runtime.side_by_side import side_by_side
from indextables.storage import open_store
store = open_store("s3://b/t", resolve(json.loads(sys.argv[1])), {})
print("started", flush=True)
try:
    side_by_side(store.get, ["a", "b", "c", "d"], 3)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture
def silent():
    """The address of a server that never responds, and an event that a request sets."""
    with silent_server() as found:
        yield found


def options(endpoint: str, **more: str) -> dict[str, str]:
    given = {"aws.accessKey": "a", "aws.secretKey": "b", "aws.region": "r"}
    return given | {"s3.endpoint": endpoint} | {f"cloud.{k}": v for k, v in more.items()}


def interrupt(requested: threading.Event, code: str, *arguments: str) -> None:
    """Interrupt a program that waits for a store; it says so and ends well before a timeout."""
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert child.stdout.readline() == "started\n"
        assert requested.wait(60)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == "interrupted\n"
    finally:
        child.kill()
        child.wait()


def test_an_interrupt_is_heard_while_a_store_keeps_silent(silent):
    endpoint, requested = silent
    given = options(endpoint, readTimeout="600000", retryTimeout="600000")
    interrupt(requested, OPEN, json.dumps(given))


def test_an_interrupt_is_heard_while_several_requests_are_waited_for(silent):
    endpoint, requested = silent
    given = options(endpoint, readTimeout="600000", retryTimeout="600000")
    interrupt(requested, SEVERAL, json.dumps(given))


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize(
    "read",
    [
        'table.scan(["message"], "id > 7")',
        "table.count(\"level = 'warn'\")",
        'table.aggregate(["count(*)", "max(id)"], by=["level"])',
        'table.search("user7 request", ["id"], limit=10_000)',
    ],
)
def test_an_interrupt_is_heard_while_splits_are_read(s3, proxy, splits, read):
    url = f"{s3.root}/hanging-{next(_numbers)}"
    make_table(url, s3.settings, splits=splits, each=5_000)
    proxy.rule = lambda request: SILENT if ".split" in request.path else PASS
    given = s3.options | PATIENT | {"s3.endpoint": proxy.endpoint, "cache.disk.enabled": "false"}
    interrupt(proxy.waiting, READ.format(read), url, json.dumps(given))


def test_an_interrupt_is_heard_while_a_split_is_written(s3, proxy):
    url = f"{s3.root}/hanging-{next(_numbers)}"
    proxy.rule = lambda request: SILENT if ".split" in request.path else PASS
    given = s3.options | PATIENT | {"s3.endpoint": proxy.endpoint}
    interrupt(proxy.waiting, WRITE, url, json.dumps(given))


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("load", {"properties": {"path": "s3://b/hung-up"}}),
        ("command", {"text": "CHECKPOINT INDEXTABLES 's3://b/hung-up'"}),
    ],
)
def test_a_planner_stops_waiting_when_its_caller_hangs_up(silent, operation, members):
    """Spark Connect interrupts the thread of a query, which closes its connection."""
    endpoint, requested = silent
    given = options(endpoint, readTimeout="600000", retryTimeout="600000")
    session = {f"spark.indextables.{key}": value for key, value in given.items()}
    body = {"protocol": PROTOCOL, "session": session, **members}
    here, there = socket.socketpair()
    answering = threading.Thread(target=lines.answer, args=(there,), daemon=True)
    answering.start()
    for text in (operation, json.dumps(body)):
        here.sendall(struct.pack(">i", len(text)) + text.encode())
    assert requested.wait(60)
    here.close()
    answering.join(60)
    assert not answering.is_alive()


def test_the_error_names_the_limits_when_a_store_keeps_silent(silent):
    endpoint, _ = silent
    settings = resolve(options(endpoint, readTimeout="200", maxRetries="1"))
    with pytest.raises(StorageError, match=r"cloud.readTimeout \(200ms\).*cloud.maxRetries \(1\)"):
        open_store("s3://b/t", settings, {}).get("a")


def test_the_error_says_that_there_are_no_credentials_when_nobody_gives_any(silent):
    endpoint, _ = silent
    settings = resolve({"s3.endpoint": endpoint, "cloud.maxRetries": "0"})
    # a host outside AWS has no metadata service for its role
    environ = {"AWS_METADATA_ENDPOINT": "http://127.0.0.1:9"}
    with pytest.raises(StorageError, match="none were found in") as caught:
        open_store("s3://b/t", settings, environ).get("a")
    assert caught.value.code == "STORAGE_CREDENTIALS"
    assert "127.0.0.1:9" not in str(caught.value)
