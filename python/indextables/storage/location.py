"""From an address and settings to a store: local folders, memory, S3, Azure, Google."""

from __future__ import annotations

import os
from collections.abc import Mapping

from indextables.config.settings import Settings
from indextables.storage.address import Kind
from indextables.storage.backend import connect
from indextables.storage.connection import plan_connection
from indextables.storage.memory import memory_folder
from indextables.storage.store import Store


def open_store(
    url: str, settings: Settings | None = None, environ: Mapping[str, str] | None = None
) -> Store:
    """The store rooted at a table's address. Nothing is read, written or connected yet.

    Without a scheme the address is a local path. `memory://name` lives as long as the process.
    """
    connection = plan_connection(
        url, settings or Settings(), os.environ if environ is None else environ
    )
    address = connection.address
    if address.kind is Kind.LOCAL:
        return Store(address.url, None, connection.native())
    if address.kind is Kind.MEMORY:
        folder = memory_folder(address.prefix)
        return Store(address.url, None, (folder, "{}"), folder=folder)
    return Store(
        address.url, connect(connection), connection.native(), secrets=connection.secrets()
    )
