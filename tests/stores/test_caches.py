"""The caches of remote splits: in memory, and on a disk shared by processes."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.stores.conftest import _numbers
from tests.stores.tables import make_table

import indextables
from indextables.config.settings import resolve
from indextables.engine.cache import cache_stats, clear_disk, clear_memory, disk_usage, sync_cache
from indextables.runtime import handles
from indextables.storage.caching import cache_options

SPLITS = 6
QUERY, WHERE = "timed", "level = 'info'"
OTHER_PROCESS = """
import json, sys
import indextables
path, options, query, where = json.loads(sys.argv[1])
print(indextables.open(path, options=options).search(query, ["id"], 1000, where).num_rows)
"""


@pytest.fixture(scope="module")
def table(minio_server, s3) -> str:
    return make_table(f"{s3.root}/cached-{next(_numbers)}", s3.settings, splits=SPLITS)


@pytest.fixture
def options(s3, tmp_path) -> dict[str, str]:
    return s3.options | {"cache.disk.path": str(tmp_path / "cache")}


@pytest.fixture
def watched(options, proxy) -> dict[str, str]:
    """The same table through a counting proxy; caches identify stores by their address."""
    return options | {"s3.endpoint": proxy.endpoint}


@pytest.fixture(autouse=True)
def _fresh():
    forget_splits()
    clear_memory()
    cache_stats(reset=True)
    yield
    forget_splits()
    clear_memory()


def forget_splits():
    handles._splits.clear()


def ids(path, options, query=QUERY, where=WHERE):
    found = indextables.open(path, options=options).search(query, ["id"], 1000, where)
    return sorted(found["id"].to_pylist())


def expected(each=200):
    return [i for i in range(SPLITS * each) if i % 50 == 0 and i % 3 == 0]


def cold():
    """Clear the caches of this process, but not the disk."""
    sync_cache()
    forget_splits()
    clear_memory()


def data_requests(proxy):
    return [r for r in proxy.requests if ".split" in r.path]


def in_another_process(path, options):
    argument = json.dumps([path, options, QUERY, WHERE])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OTHER_PROCESS, argument],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def pieces(options):
    folder = Path(options["cache.disk.path"])
    return [p for p in folder.rglob("*") if p.is_file() and p.name[:2] in ("t-", "d-")]


def test_no_data_is_asked_for_when_the_disk_has_it(table, watched, proxy):
    assert ids(table, watched) == expected()
    assert data_requests(proxy)
    cold()
    proxy.requests.clear()
    assert ids(table, watched) == expected()
    assert data_requests(proxy) == []
    assert cache_stats().disk_hits > 0


def test_no_data_is_asked_for_when_another_process_had_asked(table, watched, proxy):
    assert in_another_process(table, watched) == len(expected())
    assert len(data_requests(proxy)) >= SPLITS
    proxy.requests.clear()
    assert ids(table, watched) == expected()
    assert data_requests(proxy) == []


def test_no_data_is_asked_for_again_when_memory_has_it(table, watched, proxy):
    without = watched | {"cache.disk.enabled": "false"}
    assert ids(table, without) == expected()
    proxy.requests.clear()
    forget_splits()
    assert ids(table, without) == expected()
    assert data_requests(proxy) == []
    found = cache_stats()
    assert found.memory_hits > 0
    assert found.disk_hits == found.disk_misses == found.disk_writes == 0
    assert found.memory_used > 0
    assert pieces(watched) == []


def test_data_is_asked_for_again_when_nothing_may_be_kept(table, watched, proxy):
    without = watched | {"cache.disk.enabled": "false", "cache.maxSize": "0"}
    assert ids(table, without) == expected()
    first_reads = len(data_requests(proxy))
    forget_splits()
    assert ids(table, without) == expected()
    assert len(data_requests(proxy)) == 2 * first_reads
    assert cache_stats().memory_used == 0


def test_a_damaged_piece_is_fetched_again_when_its_checksum_differs(table, watched, proxy):
    assert ids(table, watched) == expected()
    cold()
    for number, piece in enumerate(pieces(watched)):
        data = bytearray(piece.read_bytes())
        if number % 3 == 0:
            data[-1] ^= 0xFF
        elif number % 3 == 1:
            data = data[: len(data) // 2]
        piece.write_bytes(data)
    proxy.requests.clear()
    assert ids(table, watched) == expected()
    assert data_requests(proxy)
    assert cache_stats().disk_corrupt > 0
    # and the cache recovers
    cold()
    proxy.requests.clear()
    assert ids(table, watched) == expected()
    assert data_requests(proxy) == []


def test_the_folder_stays_within_its_size_when_more_is_read(table, options):
    limit = 30_000
    small = options | {"cache.disk.maxSize": str(limit), "cache.disk.compression": "none"}
    for start in range(0, SPLITS * 200, 200):
        ids(table, small, f"user{start % 97}", f"id >= {start} AND id < {start + 200}")
    sync_cache()
    usage = disk_usage(cache_options(resolve(small)))
    assert 0 < usage.bytes <= limit
    assert cache_stats().disk_evictions > 0
    assert usage.bytes == sum(p.stat().st_size for p in pieces(small))


def test_every_process_is_answered_when_many_share_a_small_folder(table, options):
    small = options | {"cache.disk.maxSize": "20000", "cache.disk.manifestSyncInterval": "0"}
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: in_another_process(table, small), range(3)))
    assert found == [len(expected())] * 3
    usage = disk_usage(cache_options(resolve(small)))
    assert usage.bytes <= 20_000
    assert not list(Path(usage.folder).rglob(".*"))


@pytest.mark.parametrize("codec", ["lz4", "zstd", "none"])
def test_what_was_kept_is_read_when_it_was_compressed(table, options, codec):
    packed = options | {"cache.disk.compression": codec, "cache.disk.minCompressSize": "1K"}
    assert ids(table, packed) == expected()
    cold()
    before = cache_stats()
    assert ids(table, packed) == expected()
    after = cache_stats()
    assert after.disk_hits > before.disk_hits
    assert after.disk_misses == before.disk_misses


def test_compression_saves_room_when_it_is_on(table, options):
    sizes = {}
    for codec in ("zstd", "none"):
        packed = options | {"cache.disk.compression": codec, "cache.name": codec}
        ids(table, packed, "done")
        cold()
        sizes[codec] = disk_usage(cache_options(resolve(packed))).bytes
    assert 0 < sizes["zstd"] < sizes["none"]


def test_files_on_this_machine_are_never_cached_when_a_disk_cache_is_on(tmp_path):
    options = {"cache.disk.path": str(tmp_path / "cache"), "cache.disk.enabled": "true"}
    path = make_table(str(tmp_path / "t"), resolve(options), splits=2)
    assert len(ids(path, options)) > 0
    cold()
    found = cache_stats()
    assert found.memory_misses == found.disk_misses == found.disk_writes == 0
    assert not (tmp_path / "cache").exists()


def test_a_query_is_answered_when_the_folder_cannot_be_written(table, options, tmp_path):
    (tmp_path / "file").write_text("")
    broken = options | {"cache.disk.path": str(tmp_path / "file")}
    assert ids(table, broken) == expected()
    sync_cache()
    assert cache_stats().disk_failed > 0


def test_pieces_are_dropped_when_too_many_wait(table, options):
    assert ids(table, options | {"cache.disk.writeQueue.capacity": "1"}) == expected()
    sync_cache()
    dropping = cache_stats(reset=True)
    forget_splits()
    clear_memory()
    clear_disk(cache_options(resolve(options)))
    waiting = {"cache.disk.writeQueue.capacity": "1", "cache.disk.dropWritesWhenFull": "false"}
    assert ids(table, options | waiting) == expected()
    sync_cache()
    kept = cache_stats()
    assert dropping.disk_dropped + dropping.disk_writes == dropping.disk_misses
    assert kept.disk_dropped == 0
    assert kept.disk_writes == kept.disk_misses


def test_the_folder_is_private_when_it_is_made(table, options):
    ids(table, options)
    cold()
    folders = [p for p in Path(options["cache.disk.path"]).rglob("*") if p.is_dir()]
    assert folders
    assert {p.stat().st_mode & 0o077 for p in folders} == {0}
