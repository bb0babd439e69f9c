"""Open the source table that a companion's configuration names.

The module of a format is imported when a table of that format is opened: most tables read are not
companions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from indextables.config import companion as keys
from indextables.config.settings import Settings
from indextables.errors import error
from indextables.sources.credentials import source_settings
from indextables.sources.table import SourceTable
from indextables.storage import find_location, open_store
from indextables.storage.address import names_store
from indextables.storage.connection import plan_connection, reveal

# object_store's options by the name that pyiceberg has for them
_ICEBERG_FILES = {
    "aws_access_key_id": "s3.access-key-id",
    "aws_secret_access_key": "s3.secret-access-key",
    "aws_session_token": "s3.session-token",
    "aws_endpoint": "s3.endpoint",
    "aws_region": "s3.region",
    "azure_storage_account_name": "adls.account-name",
    "azure_storage_account_key": "adls.account-key",
}


@dataclass(frozen=True)
class SourceName:
    """The identity of a source table: a format, a location or name, and a catalog."""

    format: str
    source: str
    catalog: str | None = None
    catalog_type: str | None = None
    warehouse: str | None = None
    schema_source: str | None = None


def open_source(name: SourceName, settings: Settings) -> SourceTable:
    """The source table; nothing is read yet."""
    settings = source_settings(settings)
    if name.format == "iceberg":
        return _iceberg(name, settings)
    if not _is_path(name.source):
        raise error("COMPANION_NAME", name=name.source, format=name.format)
    location = find_location(name.source, settings)
    if name.format == "parquet":
        from indextables.sources.parquet import ParquetSource

        return ParquetSource(open_store(location, settings), name.schema_source)
    connection = plan_connection(location, settings, os.environ)
    options = {**reveal(connection.config), **reveal(connection.client)}
    if connection.provider is not None:
        raise error(
            "COMPANION_SOURCE",
            format="Delta",
            path=location,
            detail="a credentials provider cannot be used for a Delta source",
        )
    from indextables.sources.delta import DeltaSource

    return DeltaSource(open_store(location, settings), {k: str(v) for k, v in options.items()})


def _iceberg(name: SourceName, settings: Settings) -> SourceTable:
    from indextables.sources.iceberg import IcebergSource

    if name.catalog is None and name.warehouse is None and _is_path(name.source):
        store = open_store(find_location(name.source, settings), settings)
        return IcebergSource(name.source, store=store, properties=_files(store.url, settings))
    properties = {
        "type": name.catalog_type or settings.get(keys.ICEBERG_CATALOG_TYPE),
        "uri": settings.get(keys.ICEBERG_URI),
        "warehouse": name.warehouse or settings.get(keys.ICEBERG_WAREHOUSE),
        "token": _secret(settings.get(keys.ICEBERG_TOKEN)),
        "credential": _secret(settings.get(keys.ICEBERG_CREDENTIAL)),
        "s3.endpoint": settings.get(keys.ICEBERG_S3_ENDPOINT),
        "s3.force-virtual-addressing": str(not settings.get(keys.ICEBERG_S3_PATH_STYLE)),
    }
    given = {key: value for key, value in properties.items() if value is not None}
    files = _files(str(given.get("warehouse", "")), settings)
    return IcebergSource(name.source, name.catalog or "default", None, files | given)


def _files(url: str, settings: Settings) -> dict[str, str]:
    """The properties with which pyiceberg reads the files of a table."""
    if not names_store(url):
        return {}
    options = reveal(plan_connection(url, settings, os.environ).config)
    return {_ICEBERG_FILES[k]: str(v) for k, v in options.items() if k in _ICEBERG_FILES}


def _secret(value: object) -> str | None:
    reveal_one = getattr(value, "reveal", None)
    return reveal_one() if reveal_one is not None else (None if value is None else str(value))


def _is_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~")) or names_store(text)
