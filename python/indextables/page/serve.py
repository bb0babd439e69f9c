"""Start the page: a socket on loopback, a token, and the link that opens it."""

from __future__ import annotations

import importlib.util
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.errors import error
from indextables.page.guard import HOSTS

if TYPE_CHECKING:
    import uvicorn

    from indextables.page.process import QueryProcess

_LIBRARIES = ("starlette", "uvicorn")
_TOKEN_BYTES = 24
_START_SECONDS = 20.0


@dataclass(frozen=True)
class Site:
    """A server that is ready to run, and its URL with the token."""

    server: uvicorn.Server
    process: QueryProcess
    listener: socket.socket
    url: str

    def run(self) -> None:
        """Serve until Ctrl-C."""
        self.server.run(sockets=[self.listener])


def open_site(locations: Sequence[str], options: Mapping[str, str], port: int = 0) -> Site:
    """Bind the socket and prepare the server; port 0 takes any free port."""
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise error("PAGE_EXTRA_MISSING", libraries=", ".join(missing))
    import uvicorn

    from indextables.page.app import build_app
    from indextables.page.process import QueryProcess

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOSTS[0], port))
        # from now on a browser waits until the server runs, instead of being refused
        listener.listen()
    except OSError as cause:
        listener.close()
        raise error("PAGE_PORT", port=port, detail=cause.strerror or str(cause)) from None
    bound = int(listener.getsockname()[1])
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    process = QueryProcess(locations, options)
    app = build_app(process, token, bound)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    url = f"http://{HOSTS[0]}:{bound}/{token}/"
    return Site(uvicorn.Server(config), process, listener, url)


@contextmanager
def running_site(
    locations: Sequence[str], options: Mapping[str, str], port: int = 0
) -> Iterator[Site]:
    """Serve a site in a thread while the block runs."""
    site = open_site(locations, options, port)
    # signals belong to the main thread, which runs other code here
    thread = threading.Thread(target=site.run, name="indextables page", daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_SECONDS
    while not site.server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield site
    finally:
        site.server.should_exit = True
        thread.join(_START_SECONDS)
        site.listener.close()
