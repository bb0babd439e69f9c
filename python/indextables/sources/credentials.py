"""The credentials of a source, separate from those of the index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from indextables.config import companion as keys
from indextables.config import storage
from indextables.config.option import PREFIX
from indextables.config.settings import Settings, resolve

# the kinds of stores by what their keys begin with: ours, and Hadoop's
_STORES = {"aws.": "fs.s3a.", "azure.": "fs.azure.", "gcp.": "fs.gs."}
# where a store is, not who may read it: the same for both unless the source says otherwise
_PLACES = (storage.AWS_REGION, storage.AZURE_ENDPOINT, storage.GCP_ENDPOINT)
_HADOOP_PLACES = ("endpoint", "endpoint.region", "path.style.access")


def source_settings(settings: Settings) -> Settings:
    """The settings for the source's store: its own credentials, else those of the index.

    Credentials are never mixed: if the source has any key of its own for a kind of store, none of
    the index's keys for that kind is used.
    """
    own = {
        **{f"aws.{name}": text for name, text in settings.per_field(keys.SOURCE_AWS).items()},
        **settings.per_field(keys.SOURCE_CREDENTIALS),
    }
    if not own:
        return settings
    given = resolve({PREFIX + name: str(text) for name, text in own.items()})
    stores = [store for store in _STORES if any(name.startswith(store) for name in own)]
    places = {option.key for option in _PLACES}
    kept = {
        key: value
        for key, value in settings.values.items()
        if key in places or not _is_credential(key, stores)
    }
    return replace(
        settings,
        values={**kept, **given.values},
        hadoop={
            key: value
            for key, value in settings.hadoop.items()
            if not _is_hadoop_credential(key, stores)
        },
    )


def _is_credential(key: str, stores: Iterable[str]) -> bool:
    from_elsewhere = ("databricks.", storage.CREDENTIALS_PROVIDER.key)
    return key.startswith((*stores, *(from_elsewhere if stores else ())))


def _is_hadoop_credential(key: str, stores: Iterable[str]) -> bool:
    for store in stores:
        prefix = _STORES[store]
        if key.startswith(prefix):
            return not key.removeprefix(prefix).endswith(_HADOOP_PLACES)
    return False
