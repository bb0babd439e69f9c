"""From an address and settings to a store: local folders, memory, S3, Azure, Google."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import obstore.store
from obstore.exceptions import BaseError
from obstore.store import MemoryStore

from indextables.config import storage as keys
from indextables.config.option import Option
from indextables.config.settings import Settings
from indextables.errors import error
from indextables.storage.store import Store

_S3 = {
    "aws_access_key_id": keys.AWS_ACCESS_KEY,
    "aws_secret_access_key": keys.AWS_SECRET_KEY,
    "aws_session_token": keys.AWS_SESSION_TOKEN,
    "aws_region": keys.AWS_REGION,
    "aws_endpoint": keys.S3_ENDPOINT,
}
_AZURE = {
    "azure_storage_account_name": keys.AZURE_ACCOUNT,
    "azure_storage_account_key": keys.AZURE_KEY,
    "azure_storage_token": keys.AZURE_BEARER_TOKEN,
    "azure_storage_tenant_id": keys.AZURE_TENANT_ID,
    "azure_storage_client_id": keys.AZURE_CLIENT_ID,
    "azure_storage_client_secret": keys.AZURE_CLIENT_SECRET,
    "azure_storage_endpoint": keys.AZURE_ENDPOINT,
}
_GOOGLE = {
    "google_service_account": keys.GCP_CREDENTIALS_FILE,
    "google_service_account_key": keys.GCP_SERVICE_ACCOUNT_KEY,
}
_SCHEMES: dict[str, tuple[str, Mapping[str, Option[str | None]]]] = {
    "s3": ("s3", _S3),
    "s3a": ("s3", _S3),
    "s3n": ("s3", _S3),
    "abfs": ("abfs", _AZURE),
    "abfss": ("abfss", _AZURE),
    "az": ("az", _AZURE),
    "azure": ("azure", _AZURE),
    "wasb": ("abfs", _AZURE),
    "wasbs": ("abfss", _AZURE),
    "gs": ("gs", _GOOGLE),
    "gcs": ("gs", _GOOGLE),
}

_memory: dict[str, MemoryStore] = {}
_memory_lock = threading.Lock()


def open_store(url: str, settings: Settings | None = None) -> Store:
    """The store rooted at a table's address. Nothing is read, written or connected yet.

    Without a scheme the address is a local path. `memory://name` lives as long as the process.
    """
    settings = settings or Settings()
    scheme, separator, _ = url.partition(":")
    scheme = scheme.lower()
    if not separator or "/" in scheme:
        return _local(url)
    if scheme == "file":
        return _local(unquote(urlsplit(url).path))
    if scheme == "memory":
        return _in_memory(url)
    if scheme in _SCHEMES:
        return _remote(url, scheme, settings)
    if "://" in url:
        raise error("STORAGE_BAD_SCHEME", url=url, scheme=scheme)
    return _local(url)


def _local(path: str) -> Store:
    # the folder may not exist yet: reading must not make it
    return Store(os.path.realpath(Path(path).expanduser()), None)


def _in_memory(url: str) -> Store:
    with _memory_lock:
        backend = _memory.setdefault(url.rstrip("/"), MemoryStore())
    return Store(url.rstrip("/"), backend)


def _remote(url: str, scheme: str, settings: Settings) -> Store:
    target, options = _SCHEMES[scheme]
    connect: Any = obstore.store.from_url
    # account hosts of the older Azure service differ from the newer one's by one word
    address = (target + url[len(scheme) :]).replace(".blob.core.", ".dfs.core.", 1).rstrip("/")
    config = {key: value for key, each in options.items() if (value := settings.get(each))}
    if target == "s3":
        path_style = settings.get(keys.S3_PATH_STYLE)
        config["aws_virtual_hosted_style_request"] = "false" if path_style else "true"
        if not config.get("aws_endpoint"):
            config.pop("aws_virtual_hosted_style_request")
    client = _client_options(config, settings)
    try:
        backend = connect(
            address,
            config=config,
            client_options=client,
            retry_config={"max_retries": settings.get(keys.MAX_RETRIES)},
        )
    except (BaseError, ValueError) as cause:
        raise error("STORAGE_BAD_URL", url=url, detail=str(cause).split("\n", 1)[0]) from cause
    return Store(address, backend, config | {key: _render(v) for key, v in client.items()})


def _client_options(config: Mapping[str, str], settings: Settings) -> Any:
    endpoints = [value for key, value in config.items() if key.endswith("endpoint")]
    return {
        "allow_http": any(value.startswith("http://") for value in endpoints),
        "timeout": timedelta(milliseconds=settings.get(keys.READ_TIMEOUT_MS)),
        "connect_timeout": timedelta(milliseconds=settings.get(keys.CONNECTION_TIMEOUT_MS)),
    }


def _render(value: object) -> str:
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return str(value).lower()
