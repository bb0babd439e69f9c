"""Access control: requests need the token, and must come from pages of this server on this host.

The path of every page begins with a random token. A foreign Host header (DNS rebinding), a foreign
Origin, another method than GET and a wrong token are rejected before anything is read.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from indextables.page.render.layout import problem_page

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HOSTS = ("127.0.0.1", "localhost")
# nothing from elsewhere, no inline script or style, no frames, no forms to others
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_EXPIRED = (
    "This link has expired. Every start of the page has a link of its own: run `indextables ui` "
    "again and open the link it prints."
)
_FOREIGN = (
    "The request did not come from a page of this server: its Host, Origin or method is foreign."
)


class Guard:
    """Accepts requests that have the token and come from pages of this server."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = frozenset(f"{host}:{port}" for host in HOSTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, remove the token from its path, and add headers to the response."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or not self._is_own(scope):
            await _refuse(send, "Refused", _FOREIGN)
            return
        token, _, rest = scope["path"].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            await _refuse(send, "Expired link", _EXPIRED)
            return
        inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(inner, receive, guarded)

    def _is_own(self, scope: Scope) -> bool:
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        sites = headers.get(b"sec-fetch-site", ["none"])
        return (
            scope["method"] in ("GET", "HEAD")
            and len(hosts) == 1
            and hosts[0].lower() in self.hosts
            and all(origin.lower().removeprefix("http://") in self.hosts for origin in origins)
            and all(site in ("same-origin", "none") for site in sites)
        )


async def _refuse(send: Send, title: str, text: str) -> None:
    # without the token there is no style sheet: the page is plain
    body = problem_page(title, text).encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
