"""Store options that are set for merges only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from indextables.config import maintenance as keys

if TYPE_CHECKING:
    from indextables.config.settings import Settings

# option of the engine's store -> key
_KEYS = {
    "upload_concurrency": keys.MERGE_UPLOAD_CONCURRENCY,
    "retry_max": keys.MERGE_RETRIES,
    "retry_first_pause_ms": keys.MERGE_RETRY_BASE_MS,
    "retry_longest_pause_ms": keys.MERGE_RETRY_MAX_MS,
}


def merge_store_options(options: str, settings: Settings) -> str:
    """Return the options (JSON) of a store, with those for merges applied."""
    own = {name: settings.get(key) for name, key in _KEYS.items() if settings.get(key) is not None}
    # a local folder has no options
    return json.dumps({**json.loads(options), **own}) if own and options != "{}" else options
