"""The caches of remote files: the cache keys as options of the engine's store.

The options are sent to executors, so the engine determines what differs between hosts (whether
there is a `/local_disk0`, how large the disk is) where it runs.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from indextables.config import cache as keys
from indextables.config.settings import Settings


def cache_options(settings: Settings) -> dict[str, str | int]:
    """Options of the memory and disk cache."""
    return {
        "cache_memory_bytes": settings.get(keys.MAX_BYTES),
        "cache_name": settings.get(keys.NAME),
        "cache_disk_path": _disk_path(settings),
        "cache_disk_max_bytes": settings.get(keys.DISK_MAX_BYTES),
        "cache_disk_compression": settings.get(keys.DISK_COMPRESSION),
        "cache_disk_min_compress_bytes": settings.get(keys.DISK_MIN_COMPRESS),
        "cache_disk_rescan_ms": int(settings.get(keys.DISK_RESCAN_SECONDS) * 1000),
        "cache_queue_mode": settings.get(keys.QUEUE_MODE),
        "cache_queue_capacity": settings.get(keys.QUEUE_CAPACITY),
        "cache_queue_budget": settings.get(keys.QUEUE_BUDGET),
        "cache_queue_drop": str(settings.get(keys.DROP_WHEN_FULL)).lower(),
    }


def _disk_path(settings: Settings) -> str:
    """The folder, `auto` for the default one if the host has it, or nothing if disabled."""
    enabled = settings.get(keys.DISK_ENABLED)
    if enabled is False:
        return ""
    named = settings.get(keys.DISK_PATH) or settings.get(keys.DIRECTORY)
    if named:
        return named
    if enabled is None:
        return "auto"
    return str(Path(tempfile.gettempdir()) / f"indextables-{os.getuid()}-slicecache")
