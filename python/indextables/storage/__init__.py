"""Read and write objects, wherever the table is stored."""

from indextables.storage.location import find_location, open_store
from indextables.storage.store import ObjectMeta, Store

__all__ = ["ObjectMeta", "Store", "find_location", "open_store"]
