"""Requests to create buckets, which the product itself never does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import urlsplit


def make_bucket(endpoint: str, bucket: str, access_key: str, secret_key: str) -> None:
    url = f"{endpoint}/{bucket}"
    deadline = time.monotonic() + 30
    while True:
        try:
            _send("PUT", url, sign_s3("PUT", url, access_key, secret_key))
        except RuntimeError as busy:
            # the server reports ready slightly too early
            if "XMinioServerNotInitialized" not in str(busy) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def s3_get(url: str, access_key: str, secret_key: str) -> str:
    return _send("GET", url, sign_s3("GET", url, access_key, secret_key))


def s3_put(url: str, data: bytes, access_key: str, secret_key: str, more: dict[str, str]) -> None:
    signed = sign_s3("PUT", url, access_key, secret_key, data=data, more=more)
    _send("PUT", url, signed, data)


def sign_s3(
    method: str,
    url: str,
    access_key: str,
    secret_key: str,
    *,
    data: bytes = b"",
    more: dict[str, str] | None = None,
) -> dict[str, str]:
    """Headers of AWS signature version 4; `more` headers must sort after `x-amz-`."""
    now = datetime.now(UTC)
    timestamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    parts = urlsplit(url)
    sent = hashlib.sha256(data).hexdigest()
    headers = {"host": parts.netloc, "x-amz-content-sha256": sent, "x-amz-date": timestamp}
    headers |= more or {}
    names = ";".join(headers)
    query = "&".join(sorted(q if "=" in q else q + "=" for q in parts.query.split("&") if q))
    lines = [method, parts.path, query, *(f"{k}:{v}" for k, v in headers.items()), "", names, sent]
    scope = f"{day}/us-east-1/s3/aws4_request"
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{timestamp}\n{scope}\n{digest}"
    key = f"AWS4{secret_key}".encode()
    for part in (day, "us-east-1", "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return headers | {"authorization": f"AWS4-HMAC-SHA256 {credential}"}


def make_container(endpoint: str, container: str, account: str, key: str) -> None:
    date = format_datetime(datetime.now(UTC), usegmt=True)
    url = f"{endpoint}/{account}/{container}?restype=container"
    resource = f"/{account}/{account}/{container}\nrestype:container"
    text = f"PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:2021-08-06\n{resource}"
    signature = base64.b64encode(hmac.digest(base64.b64decode(key), text.encode(), "sha256"))
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "content-length": "0"}
    headers["authorization"] = f"SharedKey {account}:{signature.decode()}"
    _send("PUT", url, headers)


def _send(method: str, url: str, headers: dict[str, str], data: bytes | None = None) -> str:
    request = urllib.request.Request(url, data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as failed:
        msg = f"{method} {url}: {failed.code} {failed.read().decode(errors='replace')}"
        raise RuntimeError(msg) from None
