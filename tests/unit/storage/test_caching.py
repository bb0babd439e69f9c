"""Configuration keys of the cache as options of the engine's store."""

from __future__ import annotations

import json

import pytest

from indextables.config import cache as keys
from indextables.config.option import Status
from indextables.config.settings import resolve
from indextables.storage.caching import cache_options
from indextables.storage.connection import plan_connection


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "auto"),
        ({"cache.disk.path": "/c"}, "/c"),
        ({"cache.directoryPath": "/d"}, "/d"),
        ({"cache.directoryPath": "/d", "cache.disk.path": "/c"}, "/c"),
        ({"cache.disk.enabled": "false", "cache.disk.path": "/c"}, ""),
        ({"cache.disk.enabled": "true", "cache.disk.path": "/c"}, "/c"),
    ],
)
def test_the_folder_is_found_when_keys_are_given(given, path):
    assert cache_options(resolve(given))["cache_disk_path"] == path


def test_a_folder_of_the_user_is_taken_when_the_cache_is_on_without_one(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = cache_options(resolve({"cache.disk.enabled": "true"}))["cache_disk_path"]
    assert str(found).startswith(f"{tmp_path}/indextables-")


def test_every_cache_key_changes_an_option_when_it_is_set():
    """Every key changes an option."""
    values = {
        keys.MAX_BYTES: "7",
        keys.DISK_ENABLED: "false",
        keys.DISK_PATH: "/c",
        keys.DIRECTORY: "/c",
        keys.NAME: "x",
        keys.DISK_MAX_BYTES: "7",
        keys.DISK_COMPRESSION: "zstd",
        keys.DISK_MIN_COMPRESS: "7",
        keys.DISK_RESCAN_SECONDS: "7",
        keys.QUEUE_MODE: "fragment",
        keys.QUEUE_CAPACITY: "7",
        keys.QUEUE_BUDGET: "7",
        keys.DROP_WHEN_FULL: "false",
    }
    plain = cache_options(resolve({}))
    for option, value in values.items():
        assert cache_options(resolve({option.key: value})) != plain, option.key
    used = [option for option in keys.OPTIONS if option.status is Status.USED]
    named = {option for option in used if option.key.startswith("cache.")}
    # passed to the planner, and to tasks with the scan
    elsewhere = {keys.QUERY_CACHE, keys.COALESCE_MAX_GAP, keys.MAX_CONCURRENT_LOADS}
    assert named - set(values) == elsewhere


def test_the_engine_gets_them_when_the_store_is_remote_only():
    settings = resolve({"cache.maxSize": "7"})
    url, options = plan_connection("s3://b/t", settings, {}).native()
    assert json.loads(options)["cache_memory_bytes"] == 7
    assert url == "s3://b/t"
    assert plan_connection("/tmp/t", settings, {}).native() == ("/tmp/t", "{}")
