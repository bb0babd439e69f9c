"""A proxy in front of a real server: it counts requests and breaks some of them."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# what to do with a request: pass it on; reject it as too busy; break the connection before or after
# the server has processed it
PASS, SLOW_DOWN, CUT_BEFORE, CUT_AFTER, DENY = "pass", "slow", "cut before", "cut after", "deny"
# hold the request until `deliver` without a response; send it twice and return the second response
HOLD, TWICE = "hold", "twice"
# accept the request, keep the connection open and send nothing
SILENT = "silent"
# after this many seconds, all requests that do not depend on a waiting one have arrived
_NO_MORE_S = 2.0
_ERROR = b"<?xml version='1.0'?><Error><Code>%s</Code><Message>planted</Message></Error>"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]


class Proxy:
    """Forwards to a local port; `rule` decides about each request."""

    def __init__(self, port: int) -> None:
        self.requests: list[Request] = []
        self.rule: Callable[[Request], str] = lambda _: PASS
        self.delay_seconds = 0.0
        self.at_once = self.most_at_once = 0
        self._gathered = (0, "")
        self.held: list[Callable[[], object]] = []
        self.waiting, self.closed = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._came = threading.Condition(self._lock)
        self.port = port
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()

    def received(self, method: str, part: str = "") -> list[Request]:
        return [r for r in self.requests if r.method == method and part in r.path]

    def decide(self, request: Request) -> str:
        with self._lock:
            self.requests.append(request)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self._came.notify_all()
            return self.rule(request)

    def gather(self, count: int, part: str) -> None:
        """Let requests of a kind wait until `count` of them are here, or no more arrive."""
        self.most_at_once, self._gathered = 0, (count, part)

    def wait_for_others(self, request: Request) -> None:
        count, part = self._gathered
        if part in request.path:
            with self._came:
                self._came.wait_for(lambda: self.most_at_once >= count, _NO_MORE_S)

    def done(self) -> None:
        with self._lock:
            self.at_once -= 1

    def deliver(self) -> None:
        """Deliver the held requests."""
        while self.held:
            self.held.pop()()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # otherwise the body waits until the client acknowledges the headers: 40 ms per response
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def forward(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = Request(self.command, self.path, dict(self.headers))
        action = proxy.decide(request)
        try:
            proxy.wait_for_others(request)
            answer = self.serve(proxy, action, body)
        finally:
            # before the answer: a client that has it may send its next request
            proxy.done()
        if answer:
            answer()

    def serve(self, proxy, action, body):
        time.sleep(proxy.delay_seconds)
        if action == SILENT:
            proxy.waiting.set()
            proxy.closed.wait()
            action = CUT_BEFORE
        if action in (SLOW_DOWN, DENY):
            status, code = (503, b"SlowDown") if action == SLOW_DOWN else (403, b"AccessDenied")
            return partial(self.answer, status, [], _ERROR % code)
        if action == HOLD:
            proxy.held.append(
                partial(_ask, proxy.port, self.command, self.path, self.headers, body)
            )
        elif action != CUT_BEFORE:
            status, headers, content = self.ask(proxy.port, body)
            if action == TWICE:
                status, headers, content = self.ask(proxy.port, body)
        if action in (CUT_BEFORE, CUT_AFTER, HOLD):
            self.close_connection = True
            self.connection.close()
            return None
        return partial(self.answer, status, headers, content)

    def ask(self, port, body):
        return _ask(port, self.command, self.path, self.headers, body)

    def answer(self, status, headers, content):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        named = {name.lower(): value for name, value in headers}
        length = named.get("content-length") if self.command == "HEAD" else None
        if status != 204:
            self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = forward  # noqa: N815


def _ask(port, command, path, headers, body):
    upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    upstream.putrequest(command, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        upstream.putheader(name, value)
    upstream.endheaders(body)
    answer = upstream.getresponse()
    content = answer.read()
    upstream.close()
    return answer.status, answer.getheaders(), content


def times(count: int, action: str, method: str = "", part: str = "") -> Callable[[Request], str]:
    """A rule for the first few requests of a kind."""
    left = [count]

    def rule(request: Request) -> str:
        if left[0] and request.method.startswith(method) and part in request.path:
            left[0] -= 1
            return action
        return PASS

    return rule
