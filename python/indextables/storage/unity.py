"""Temporary credentials from Unity Catalog, for a table at a path that the catalog governs.

    POST /oidc/v1/token                                           client id and secret ──> token
    POST /api/2.1/unity-catalog/temporary-path-credentials        token, path ──> credentials

Requests are not logged and errors do not show responses, because both hold secrets.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from indextables.config import storage as keys
from indextables.config.option import Option
from indextables.config.secret import Secret
from indextables.errors import IndexTablesError, error

T = TypeVar("T")

PROVIDER = f"{__name__}.PathCredentials"
_CREDENTIALS = "/api/2.1/unity-catalog/temporary-path-credentials"
_TOKEN = "/oidc/v1/token"  # noqa: S105 (a path)
# members of a response, and the names of their contents in our stores
_MEMBERS = {
    "aws_temp_credentials": {
        "access_key_id": "access_key_id",
        "secret_access_key": "secret_access_key",
        "session_token": "session_token",
    },
    "azure_user_delegation_sas": {"sas_token": "sas_token"},
    "azure_aad": {"aad_token": "bearer_token"},
    "gcp_oauth_token": {"oauth_token": "bearer_token"},
}
_FORBIDDEN = 403
_AGAIN = (408, 429, 500, 502, 503, 504)
_FIRST_PAUSE_SECONDS = 0.2


class PathCredentials:
    """Requests credentials of one table from the catalog; called again before they expire."""

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self._url = url
        self._options = options
        self._workspace = str(_value(options, keys.DATABRICKS_WORKSPACE)).rstrip("/")
        insecure = _value(options, keys.DATABRICKS_INSECURE)
        if not self._workspace.startswith("https://") and not insecure:
            detail = f"{keys.DATABRICKS_WORKSPACE.key} does not start with https://"
            raise _failed(url, detail)

    def __call__(self) -> dict[str, Any]:
        """Credentials to read and write, or only to read if the catalog grants no more."""
        operation = _value(self._options, keys.DATABRICKS_OPERATION)
        if operation is not None:
            return self._fetch(operation.upper())
        try:
            return self._fetch("PATH_READ_WRITE")
        except IndexTablesError as refused:
            if refused.context.get("status") != _FORBIDDEN:
                raise
            return self._fetch("PATH_READ")

    def _fetch(self, operation: str) -> dict[str, Any]:
        body = json.dumps({"url": self._url, "operation": operation}).encode()
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": "application/json"}
        answer = _post(self._url, self._workspace + _CREDENTIALS, body, headers, self._options)
        for member, names in _MEMBERS.items():
            if found := answer.get(member):
                return {names[k]: v for k, v in found.items() if k in names} | self._life(answer)
        raise _failed(self._url, "the catalog gave credentials of an unknown kind")

    def _life(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        ends = answer.get("expiration_time")
        if ends is None:
            return {}
        buffer = 60 * _value(self._options, keys.DATABRICKS_BUFFER)
        return {"expires_at": ends / 1000, "renew_before_seconds": buffer}

    def _token(self) -> str:
        given = _value(self._options, keys.DATABRICKS_TOKEN)
        if given:
            return given.reveal()
        client = _value(self._options, keys.DATABRICKS_CLIENT_ID)
        secret = _value(self._options, keys.DATABRICKS_CLIENT_SECRET)
        if not client or not secret:
            names = [keys.DATABRICKS_TOKEN.key, keys.DATABRICKS_CLIENT_ID.key]
            detail = f"set {names[0]}, or {names[1]} and {keys.DATABRICKS_CLIENT_SECRET.key}"
            raise _failed(self._url, detail)
        with _lock:
            held = _tokens.get((self._workspace, client, secret))
            if held is None or time.time() >= held.renew_at:
                held = self._sign_in(client, secret.reveal())
                _tokens[self._workspace, client, secret] = held
            return held.text

    def _sign_in(self, client: str, secret: str) -> _Token:
        scope = _value(self._options, keys.DATABRICKS_SCOPE)
        form = {"grant_type": "client_credentials", "scope": scope}
        login = base64.b64encode(f"{client}:{secret}".encode()).decode()
        headers = {
            "Authorization": f"Basic {login}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = urllib.parse.urlencode(form).encode()
        answer = _post(self._url, self._workspace + _TOKEN, body, headers, self._options)
        lives = float(answer.get("expires_in", 3600))
        buffer = _value(self._options, keys.DATABRICKS_TOKEN_BUFFER)
        return _Token(answer["access_token"], time.time() + max(lives - buffer, lives / 2))


@dataclass(frozen=True, repr=False)
class _Token:
    text: str
    renew_at: float


_lock = threading.Lock()
_tokens: dict[tuple[str, str, Secret], _Token] = {}


def _post(
    url: str, address: str, body: bytes, headers: Mapping[str, str], options: Mapping[str, str]
) -> dict[str, Any]:
    """Send a request; retry while the server is busy or unreachable."""
    # here, because most processes never send one, and HTTP with TLS takes long to import
    import urllib.error
    import urllib.request

    request = urllib.request.Request(address, body, dict(headers), method="POST")  # noqa: S310
    attempts = 1 + _value(options, keys.DATABRICKS_RETRIES)
    patience = _value(options, keys.READ_TIMEOUT_MS) / 1000
    pause = _FIRST_PAUSE_SECONDS
    for left in reversed(range(attempts)):
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:  # noqa: S310
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as refused:
            if refused.code not in _AGAIN or not left:
                raise _failed(url, f"{address} answered {refused.code}", refused.code) from None
        except (OSError, ValueError) as cause:
            if not left:
                detail = f"{address} cannot be reached ({type(cause).__name__})"
                raise _failed(url, detail) from None
        time.sleep(pause)
        pause *= 2
    raise AssertionError


def _value(options: Mapping[str, str], option: Option[T]) -> T:
    text = options.get(option.key)
    return option.default if text is None else option.parser.parse(text)


def _failed(url: str, detail: str, status: int = 0) -> IndexTablesError:
    return error("STORAGE_CREDENTIALS", url=url, detail=f"Unity Catalog: {detail}", status=status)
