"""Real object stores on loopback: MinIO for S3, Azurite for Azure, stopped by their pids."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

CACHE = Path(os.environ.get("INDEXTABLES_CACHE", Path.home() / ".cache" / "indextables"))
MINIO = CACHE / "bin" / "minio"
AZURITE = CACHE / "npm" / "node_modules" / ".bin" / "azurite-blob"
_PATIENCE_S = 240
# outside the ephemeral range: the system assigns none of these ports to other programs
_PORTS = range(20_000, 32_000)
# replaces Azurite's well-known key, so that tests can search for it
AZURE_ACCOUNT = "tablesaccount"
# only checks whether a server with a self-signed certificate answers
_TRUSTING = ssl.create_default_context()
_TRUSTING.check_hostname = False
_TRUSTING.verify_mode = ssl.CERT_NONE


def free_port() -> int:
    """A port for a server that starts soon, and again after it was killed."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_for_port(process: subprocess.Popen, port: int, log: Path) -> None:
    """Wait until a started server answers."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
                break
        else:
            return
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")


@dataclass
class Server:
    """A process that listens on a port; `kill` acts like a power failure."""

    command: list[str]
    port: int
    environment: dict[str, str]
    log: Path
    ready: str
    scheme: str = "http"
    process: subprocess.Popen | None = field(default=None, repr=False)

    @property
    def endpoint(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def folder(self) -> Path:
        return self.log.parent

    def start(self) -> Server:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, stdout=out, stderr=out, env=os.environ | self.environment
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(
                    self.endpoint + self.ready, timeout=1, context=_TRUSTING
                ):
                    return self
            except urllib.error.HTTPError as answer:
                if answer.code < 500:
                    return self
            except OSError:
                pass
            time.sleep(0.02)
        self.stop()
        msg = f"{self.command[0]} did not start: {self.log.read_text(errors='replace')[-2000:]}"
        raise RuntimeError(msg)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.kill()


def minio(folder: Path, user: str, password: str) -> Server:
    port = free_port()
    command = [str(MINIO), "server", "--quiet", "--address", f"127.0.0.1:{port}"]
    environment = {
        "MINIO_ROOT_USER": user,
        "MINIO_ROOT_PASSWORD": password,
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
        # one drive, small machine: do not reserve memory for many parallel requests
        "MINIO_API_REQUESTS_MAX": "64",
    }
    return Server(
        [*command, str(folder / "data")],
        port,
        environment,
        folder / "minio.log",
        "/minio/health/ready",
    )


def minio_with_own_certificate(folder: Path, user: str, password: str) -> Server:
    """Start a server with a self-signed certificate."""
    certificates = folder / "certs"
    certificates.mkdir()
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(certificates / "private.key")]
    command += ["-out", str(certificates / "public.crt")]
    subprocess.run(command, check=True, capture_output=True)
    server = minio(folder, user, password)
    server.command[2:2] = ["--certs-dir", str(certificates)]
    server.scheme = "https"
    return server


def azurite(folder: Path, key: str) -> Server:
    port = free_port()
    command = [str(AZURITE), "--silent", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    command += ["--location", str(folder / "data"), "--skipApiVersionCheck", "--disableTelemetry"]
    environment = {"AZURITE_ACCOUNTS": f"{AZURE_ACCOUNT}:{key}"}
    return Server(command, port, environment, folder / "azurite.log", "/")


def azure_key(text: str) -> str:
    """A key in Azure's format."""
    return base64.b64encode(text.encode().ljust(64, b"-")).decode()


@contextlib.contextmanager
def silent_server() -> Iterator[tuple[str, threading.Event]]:
    """Run a server that never responds; its address, and an event that a request sets."""
    listening, held, requested = socket.create_server(("127.0.0.1", 0)), [], threading.Event()

    def accept() -> None:
        while True:
            try:
                held.append(listening.accept()[0])
            except OSError:
                return
            requested.set()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requested
    finally:
        listening.close()
        for connection in held:
            connection.close()
