"""A small server for the documented requests of Unity Catalog for temporary credentials."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs


class Catalog:
    """Gives credentials to callers with the token or the client's login."""

    def __init__(self, credentials: dict, *, lives: float = 3600.0) -> None:
        self.credentials = credentials
        self.lives = lives
        self.token = "planted-catalog-token"
        self.client = ("planted-client", "planted-client-secret")
        self.forbidden: set[str] = set()
        self.busy = 0
        self.requests: list[dict] = []
        self.sign_ins: list[dict] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.catalog = self
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        catalog = self.server.catalog
        body = self.rfile.read(int(self.headers["content-length"]))
        if catalog.busy:
            catalog.busy -= 1
            self.answer(503, {"message": "planted-busy"})
        elif self.path == "/oidc/v1/token":
            self.sign_in(catalog, {k: v[0] for k, v in parse_qs(body.decode()).items()})
        elif self.path == "/api/2.1/unity-catalog/temporary-path-credentials":
            self.give(catalog, json.loads(body))
        else:
            self.answer(404, {})

    def sign_in(self, catalog, form):
        kind, _, login = self.headers["authorization"].partition(" ")
        if kind != "Basic" or b64decode(login).decode() != ":".join(catalog.client):
            self.answer(401, {"error": "planted-refusal"})
            return
        catalog.sign_ins.append(form)
        self.answer(200, {"access_token": catalog.token, "expires_in": 3600})

    def give(self, catalog, request):
        if self.headers["authorization"] != f"Bearer {catalog.token}":
            self.answer(401, {"message": "planted-refusal"})
            return
        catalog.requests.append(request)
        if request["operation"] in catalog.forbidden:
            self.answer(403, {"message": "planted-refusal"})
            return
        ends = int((time.time() + catalog.lives) * 1000)
        self.answer(200, {**catalog.credentials, "expiration_time": ends, "url": request["url"]})

    def answer(self, status, document):
        content = json.dumps(document).encode()
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
