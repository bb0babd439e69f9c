"""The schema registry: each document mapping stored once, by the hash of its canonical form."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

PREFIX = "docMappingSchema."
_HASH_BYTES = 12  # 16 characters of base64


def canonical(value: Any) -> Any:
    """The value with object members sorted by name, and lists of named objects by their name."""
    if isinstance(value, dict):
        return {key: canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        items = [canonical(item) for item in value]
        if items and all(isinstance(i, dict) and isinstance(i.get("name"), str) for i in items):
            items.sort(key=lambda item: str(item["name"]))
        return items
    return value


def schema_hash(mapping: str) -> str:
    """Return the registry name of a document mapping; text that is not JSON is hashed unchanged."""
    try:
        text = json.dumps(canonical(json.loads(mapping)), separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        text = mapping
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[:_HASH_BYTES]).decode()


def from_configuration(configuration: Mapping[str, str]) -> dict[str, str]:
    """The registry kept in a table's configuration, by bare hash."""
    return {k[len(PREFIX) :]: v for k, v in configuration.items() if k.startswith(PREFIX)}


def bare(registry: Mapping[str, str]) -> dict[str, str]:
    """A state's registry by bare hash, whether its keys were prefixed or not."""
    return {key.removeprefix(PREFIX): text for key, text in registry.items()}


def configured(configuration: Mapping[str, str], registry: Mapping[str, str]) -> dict[str, str]:
    """The configuration with a registry written into it."""
    return {**configuration, **{PREFIX + key: text for key, text in sorted(registry.items())}}


def renormalized(registry: Mapping[str, str], refs: Iterable[str]) -> dict[str, str]:
    """The references to replace, so that equal mappings share one canonical hash."""
    renamed = {ref: schema_hash(registry[ref]) for ref in refs if ref in registry}
    return {old: new for old, new in renamed.items() if old != new}
