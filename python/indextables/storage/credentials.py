"""Temporary credentials from the user's function or class, renewed before they expire.

The name is dotted (`package.module.Name`) and is imported wherever it is needed, also in Spark's
workers. A function is called with the table's location and the storage keys that are set; a class
is instantiated with them once, and its object is called without arguments. Both return a mapping:

    S3       access_key_id, secret_access_key, and optionally session_token
    Azure    one of account_key, sas_token, bearer_token
    Google   bearer_token

and `expires_at`, a datetime with a time zone, seconds since 1970, or None for never;
`renew_before_seconds` is how long before that the credentials are renewed.
"""

from __future__ import annotations

import importlib
import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from indextables.config import storage as keys
from indextables.errors import IndexTablesError, error
from indextables.storage.address import Kind

# credentials are renewed this long before they expire, or after 90 % of a shorter lifetime
_EARLY_SECONDS = 300.0
_FIELDS = {
    Kind.S3: ({"access_key_id", "secret_access_key"},),
    Kind.AZURE: ({"account_key"}, {"sas_token"}, {"bearer_token"}),
    Kind.GOOGLE: ({"bearer_token"},),
}
_OPTIONAL = {"session_token"}
_LIFE = {"expires_at", "renew_before_seconds"}
# a name of this form is not a Python name
_JAVA = re.compile(r"^(com|org|io|net|software)\.[\w.$]*\.[A-Z]\w*$")


@dataclass(frozen=True, repr=False)
class Credentials:
    """The credentials of a provider, and when (seconds since 1970) to renew them."""

    values: Mapping[str, str]
    expires_at: float | None
    renew_at: float | None


class Provider:
    """Calls the user's provider and caches the credentials while they are valid. Thread-safe."""

    def __init__(
        self,
        name: str,
        url: str,
        kind: Kind,
        properties: Mapping[str, str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._name, self._url, self._kind = name, url, kind
        self._properties = dict(properties)
        self._now = now
        self._lock = threading.Lock()
        self._call: Callable[[], Any] | None = None
        self._held: Credentials | None = None

    def credentials(self) -> Credentials:
        """Credentials that stay valid for a while."""
        with self._lock:
            held = self._held
            if held is None or (held.renew_at is not None and self._now() >= held.renew_at):
                held = self._held = self._fetch()
            return held

    def _fetch(self) -> Credentials:
        if self._call is None:
            self._call = _load(self._name, self._url, self._properties)
        try:
            given = self._call()
        except IndexTablesError:
            raise
        except Exception as cause:  # noqa: BLE001 (whatever the user's code raises)
            # the message of a foreign exception may hold a secret
            raise self._failed(f"it raised {type(cause).__name__}") from None
        return self._checked(given)

    def _checked(self, given: Any) -> Credentials:
        if not isinstance(given, Mapping):
            raise self._failed(f"it returned {type(given).__name__}, not a mapping")
        values = {k: str(v) for k, v in given.items() if k not in _LIFE and v is not None}
        names = set(values) - _OPTIONAL
        if names not in _FIELDS[self._kind]:
            wanted = " or ".join(", ".join(sorted(names)) for names in _FIELDS[self._kind])
            raise self._failed(f"for {self._kind} it has to return {wanted}")
        ends = _seconds(given.get("expires_at"))
        if ends is None:
            return Credentials(values, None, None)
        now = self._now()
        if ends <= now:
            raise self._failed("the credentials it returned have expired")
        early = float(given.get("renew_before_seconds", _EARLY_SECONDS))
        if early >= ends - now:
            early = (ends - now) / 10
        return Credentials(values, ends, ends - early)

    def _failed(self, detail: str) -> IndexTablesError:
        return error("STORAGE_CREDENTIALS", url=self._url, detail=f"`{self._name}`: {detail}")


def _load(name: str, url: str, properties: Mapping[str, str]) -> Callable[[], Any]:
    module_name, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        target = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError):
        detail = f"`{name}` is not an importable Python function or class"
        if _JAVA.match(name):
            detail += (
                ", and Java classes are not supported: name a Python function or class that "
                "returns the same credentials, such as `my_package.my_module.credentials`"
            )
        raise error("STORAGE_CREDENTIALS", url=url, detail=detail) from None
    if isinstance(target, type):
        made: Callable[[], Any] = target(url, dict(properties))
        return made
    return lambda: target(url, dict(properties))


def _seconds(expires_at: Any) -> float | None:
    if expires_at is None:
        return None
    if isinstance(expires_at, datetime):
        return (expires_at if expires_at.tzinfo else expires_at.replace(tzinfo=UTC)).timestamp()
    return float(expires_at)


_providers: OrderedDict[str, Provider] = OrderedDict()
_providers_lock = threading.Lock()


def provider_of(spec: str) -> Provider:
    """The provider for a description (JSON: name, url, kind, properties), one per process."""
    with _providers_lock:
        found = _providers.get(spec)
        if found is None:
            parts = json.loads(spec)
            found = Provider(parts["name"], parts["url"], Kind(parts["kind"]), parts["properties"])
            _providers[spec] = found
            given = parts["properties"].get(keys.DATABRICKS_CACHE_SIZE.key)
            most = keys.DATABRICKS_CACHE_SIZE.default if given is None else int(given)
            while len(_providers) > max(most, 1):
                _providers.popitem(last=False)
        _providers.move_to_end(spec)
        return found


def fetch(spec: str) -> str:
    """Credentials as JSON for the engine, which caches them until `renew_at_ms`."""
    found = provider_of(spec).credentials()
    renew_at_ms = None if found.renew_at is None else int(found.renew_at * 1000)
    return json.dumps({"values": dict(found.values), "renew_at_ms": renew_at_ms})
