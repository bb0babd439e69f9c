"""How to connect to a store: one pure function, whose result opens the engine's store.

address + settings + Hadoop's keys + environment ──> Connection ──> address and options (JSON)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from indextables.config import cache as caching
from indextables.config import read as reading
from indextables.config import storage as keys
from indextables.config.option import Option
from indextables.config.secret import Secret
from indextables.config.settings import Settings
from indextables.storage import unity
from indextables.storage.address import Address, Kind, parse_address
from indextables.storage.azure import azure_options
from indextables.storage.caching import cache_options
from indextables.storage.google import google_options
from indextables.storage.hadoop import HadoopKeys
from indextables.storage.hdfs import hdfs_options
from indextables.storage.s3 import s3_options

Value = str | Secret

FIRST_PAUSE_MS = 100
LONGEST_PAUSE_MS = 5_000
# profiles of batch retrieval: maximum bytes per request, gap, minimum ranges, concurrency
_PROFILES = {
    "conservative": (4 << 20, 128 << 10, 100, 4),
    "balanced": (16 << 20, 512 << 10, 50, 8),
    "aggressive": (64 << 20, 2 << 20, 10, 16),
}
# the timeout applies to waiting for a response, not to one that keeps arriving
_LONGEST_REQUEST = "600s"


@dataclass(frozen=True)
class Connection:
    """Everything needed to open a store. `config` and `client` have object_store's own keys."""

    address: Address
    config: Mapping[str, Value] = field(default_factory=dict)
    client: Mapping[str, Value] = field(default_factory=dict)
    retries: int = 0
    retry_seconds: int = 0
    transfer: Mapping[str, int] = field(default_factory=dict)
    cache: Mapping[str, str | int] = field(default_factory=dict)
    provider: str | None = None
    properties: Mapping[str, Value] = field(default_factory=dict)

    def native(self) -> tuple[str, str]:
        """Location and options (JSON) for the engine's store; the JSON holds secrets."""
        if self.address.kind is Kind.LOCAL:
            return self.address.prefix, "{}"
        options: dict[str, object] = {**reveal(self.config), **reveal(self.client)}
        options |= {
            "retry_max": self.retries,
            "retry_first_pause_ms": FIRST_PAUSE_MS,
            "retry_longest_pause_ms": LONGEST_PAUSE_MS,
            "retry_seconds": self.retry_seconds,
            **self.transfer,
            **self.cache,
        }
        options["limits"] = self.limits()
        options["redact"] = sorted(set(self.secrets()))
        if self.provider:
            options["credentials_provider"] = self.provider_spec()
        return self.address.native, json.dumps(options)

    def provider_spec(self) -> str:
        """The user's credentials provider and its arguments as JSON, which holds secrets."""
        spec = {
            "name": self.provider,
            "url": self.address.url,
            "kind": self.address.kind,
            "properties": reveal(self.properties),
        }
        return json.dumps(spec, sort_keys=True)

    def limits(self) -> str:
        """The timeouts of the store, by the names of the settings."""
        return (
            f"the limits are cloud.connectionTimeout ({self.client.get('connect_timeout')}), "
            f"cloud.readTimeout ({self.client.get('read_timeout')}), "
            f"cloud.maxRetries ({self.retries}) and cloud.retryTimeout ({self.retry_seconds}s)"
        )

    def secrets(self) -> Iterator[str]:
        """Every secret in it, for redacting messages."""
        for part in (self.config, self.client, self.properties):
            for value in part.values():
                if isinstance(value, Secret) and value:
                    yield value.reveal()


def plan_connection(url: str, settings: Settings, environ: Mapping[str, str]) -> Connection:
    """How to connect to the store of a location.

    In order of precedence: settings, Hadoop's keys, environment, the role of the host. All
    credentials come from the first source that has any.
    """
    address = parse_address(url)
    if address.kind in (Kind.LOCAL, Kind.MEMORY):
        return Connection(address)
    provider = settings.get(keys.CREDENTIALS_PROVIDER) or _catalog(settings)
    if address.kind is Kind.HDFS:
        provider = None
    config = _config(address, settings, environ, provided=provider is not None)
    return Connection(
        address,
        config,
        _client(address, config, settings),
        settings.get(keys.MAX_RETRIES),
        -(-settings.get(keys.RETRY_TIMEOUT_MS) // 1000),
        {
            "upload_threshold_bytes": settings.get(keys.MULTIPART_THRESHOLD),
            "upload_part_bytes": settings.get(keys.PART_SIZE),
            "upload_concurrency": settings.get(keys.MAX_CONCURRENCY),
            "read_hedge_after_ms": settings.get(keys.HEDGE_AFTER_MS),
            **plan_reading(settings),
        },
        cache_options(settings),
        provider,
        _properties(settings) if provider else {},
    )


def plan_reading(settings: Settings) -> dict[str, int]:
    """How the engine coalesces ranges of one file into requests."""
    profile = settings.get(reading.BATCH_PROFILE)
    if not settings.get(reading.BATCH_ENABLED) or profile == "disabled":
        return {"read_gap_bytes": 0}
    most, gap, least, concurrency = _PROFILES[profile]
    candidates = {
        "read_range_bytes": (settings.get(reading.BATCH_RANGE), most),
        "read_gap_bytes": (
            settings.get(reading.BATCH_GAP),
            settings.get(caching.COALESCE_MAX_GAP),
            gap,
        ),
        "read_least_ranges": (settings.get(reading.BATCH_LEAST), least),
        "read_concurrency": (
            settings.get(reading.BATCH_CONCURRENCY),
            settings.get(caching.MAX_CONCURRENT_LOADS),
            concurrency,
        ),
    }
    return {
        name: next(value for value in values if value is not None)
        for name, values in candidates.items()
    }


def reveal(values: Mapping[str, Value]) -> dict[str, str]:
    """Reveal the secrets, where a store is opened."""
    return {k: v.reveal() if isinstance(v, Secret) else v for k, v in values.items()}


def _config(
    address: Address, settings: Settings, environ: Mapping[str, str], *, provided: bool
) -> dict[str, Value]:
    if address.kind is Kind.S3:
        return s3_options(address, settings, environ, provided=provided)
    if address.kind is Kind.AZURE:
        return azure_options(address, settings, environ, provided=provided)
    if address.kind is Kind.HDFS:
        return dict(hdfs_options(address, settings, environ))
    return google_options(settings, environ, provided=provided)


def _client(address: Address, config: Mapping[str, Value], settings: Settings) -> dict[str, Value]:
    """Options of the HTTP client. Certificates are always verified."""
    endpoints = [str(v) for k, v in config.items() if "endpoint" in k or k == "google_base_url"]
    client: dict[str, Value] = {
        # without encryption only if the endpoint itself says so
        "allow_http": "true" if any(e.startswith("http://") for e in endpoints) else "false",
        "connect_timeout": f"{settings.get(keys.CONNECTION_TIMEOUT_MS)}ms",
        "read_timeout": f"{settings.get(keys.READ_TIMEOUT_MS)}ms",
        "timeout": _LONGEST_REQUEST,
        "pool_max_idle_per_host": str(settings.get(keys.MAX_CONNECTIONS)),
    }
    proxy = settings.get(keys.PROXY_URL) or _hadoop_proxy(address, settings)
    return client | ({"proxy_url": proxy} if proxy else {})


def _hadoop_proxy(address: Address, settings: Settings) -> Secret | None:
    hadoop = HadoopKeys(settings.hadoop, (f"fs.s3a.bucket.{address.bucket}.{{}}", "fs.s3a.{}"))
    host = hadoop.text("proxy.host")
    if address.kind is not Kind.S3 or not host:
        return None
    port = hadoop.text("proxy.port") or "80"
    user, password = hadoop.text("proxy.username"), hadoop.secret("proxy.password")
    login = f"{user}:{password.reveal() if password else ''}@" if user else ""
    return Secret(f"http://{login}{host}:{port}")


def _catalog(settings: Settings) -> str | None:
    """The provider for Unity Catalog, if a catalog is set and no credentials are."""
    given: tuple[Option[Any], ...] = (
        keys.AWS_ACCESS_KEY,
        keys.AZURE_KEY,
        keys.AZURE_BEARER_TOKEN,
        keys.AZURE_CONNECTION_STRING,
        keys.AZURE_CLIENT_SECRET,
        keys.GCP_SERVICE_ACCOUNT_KEY,
        keys.GCP_CREDENTIALS_FILE,
    )
    if any(settings.is_set(option) for option in given):
        return None
    return unity.PROVIDER if settings.get(keys.DATABRICKS_WORKSPACE) else None


def _properties(settings: Settings) -> dict[str, Value]:
    """The storage keys that are set, from which a provider reads its own."""
    given = {option.key: settings.get(option) for option in keys.OPTIONS if settings.is_set(option)}
    return {
        key: value if isinstance(value, Secret) else str(value)
        for key, value in given.items()
        if value is not None
    }
