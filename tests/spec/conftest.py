"""Spec files also run on the object stores that tests/stores starts."""

from __future__ import annotations

from tests.stores.conftest import azure, azurite_server, minio_server, s3

__all__ = ["azure", "azurite_server", "minio_server", "s3"]
