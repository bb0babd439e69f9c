"""From a connection to obstore's store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from indextables.config.secret import Secret
from indextables.errors import error
from indextables.storage.address import Kind
from indextables.storage.connection import (
    FIRST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    Connection,
    reveal,
)
from indextables.storage.credentials import provider_of
from indextables.storage.redaction import strike

_MAKERS: dict[Kind, Any] = {Kind.S3: S3Store, Kind.AZURE: AzureStore, Kind.GOOGLE: GCSStore}
# what obstore calls the parts of credentials, by option and by what a provider returns
_PARTS = {
    Kind.S3: {
        "aws_access_key_id": "access_key_id",
        "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "token",
        "session_token": "token",
    },
    Kind.AZURE: {
        "azure_storage_account_key": "access_key",
        "azure_storage_sas_token": "sas_token",
        "azure_storage_token": "token",
        "account_key": "access_key",
        "bearer_token": "token",
    },
    Kind.GOOGLE: {"bearer_token": "token"},
}


def connect(connection: Connection) -> ObjectStore:
    """The store in obstore's form. Nothing is asked of the server yet.

    Credentials go in by a provider, also fixed ones: as options they would be mixed with what
    obstore finds in the environment, and would be shown by the store's own `config`.
    """
    address = connection.address
    parts = _PARTS[address.kind]
    fixed = {parts[k]: v for k, v in connection.config.items() if k in parts}
    config = {k: v for k, v in connection.config.items() if k not in parts}
    provider = _provider(connection, fixed)
    try:
        return cast(
            "ObjectStore",
            _MAKERS[address.kind](
                address.bucket,
                prefix=address.prefix or None,
                config=reveal(config),
                client_options=reveal(connection.client),
                retry_config={
                    "max_retries": connection.retries,
                    "backoff": {
                        "init_backoff": timedelta(milliseconds=FIRST_PAUSE_MS),
                        "max_backoff": timedelta(milliseconds=LONGEST_PAUSE_MS),
                        "base": 2,
                    },
                    "retry_timeout": timedelta(seconds=connection.retry_seconds),
                },
                **({"credential_provider": provider} if provider else {}),
            ),
        )
    except (BaseError, ValueError, TypeError) as cause:
        detail = strike(str(cause).split("\n", 1)[0], connection.secrets())
        raise error("STORAGE_BAD_URL", url=address.url, detail=detail) from None


def _provider(
    connection: Connection, fixed: Mapping[str, str | Secret]
) -> Callable[[], dict[str, Any]] | None:
    if fixed:
        values: dict[str, Any] = {**reveal(fixed), "expires_at": None}
        return lambda: values
    if connection.provider is None:
        return None
    provider = provider_of(connection.provider_spec())
    parts = _PARTS[connection.address.kind]

    def ask() -> dict[str, Any]:
        given = provider.credentials()
        named: dict[str, Any] = {parts.get(k, k): v for k, v in given.values.items()}
        ends = given.expires_at
        return named | {"expires_at": None if ends is None else datetime.fromtimestamp(ends, UTC)}

    return ask
