"""Requests to an object store and their latency, through a proxy that delays each by 50 ms."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.stores import signing
from tests.stores.conftest import ACCESS_KEY, BUCKET, SECRET_KEY, Place, s3_place
from tests.stores.proxy import Proxy
from tests.stores.servers import minio
from tests.stores.tables import make_table

import indextables
from benches.report import Result
from indextables.engine.cache import sync_cache
from indextables.runtime import handles

DELAY_SECONDS = 0.05
FEW, MANY = 20, 100
TERM = "user7"


def run() -> Iterator[Result]:
    """Measure."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with minio(root, ACCESS_KEY, SECRET_KEY) as server:
            signing.make_bucket(server.endpoint, BUCKET, ACCESS_KEY, SECRET_KEY)
            place, proxy = s3_place(server), Proxy(server.port)
            try:
                yield from _measure(place, proxy, str(root / "cache"))
            finally:
                proxy.close()


def _measure(place: Place, proxy: Proxy, folder: str) -> Iterator[Result]:
    few = make_table(f"{place.root}/few", place.settings, splits=FEW, each=5_000)
    many = make_table(f"{place.root}/many", place.settings, splits=MANY)
    options = place.options | {"s3.endpoint": proxy.endpoint, "cache.disk.path": folder}
    # leave out imports and the first connection
    _ask(many, options | {"cache.disk.enabled": "false"})
    per_split = _requests(proxy, many, options) / MANY
    yield Result(f"cold search of {MANY} small splits: requests per split", per_split, "", 5)
    without = options | {"cache.disk.enabled": "false"}
    per_split = _requests(proxy, few, without, _filter) / FEW
    yield Result(f"cold term of {FEW} splits of 5,000 rows: requests per split", per_split, "", 5)
    per_split = _requests(proxy, few, without) / FEW
    yield Result("the same, top rows of a search", per_split, "", 5)
    sync_cache()
    warm = _requests(proxy, many, options)
    yield Result(f"search of {MANY} splits, warm from disk", warm, "requests", 0)
    proxy.delay_seconds = DELAY_SECONDS
    seconds = min(_seconds(few, without) for _ in range(3))
    yield Result(f"cold search of {FEW} splits, 50 ms per request", seconds, "s", 1.5)
    _seconds(few, options)
    sync_cache()
    yield Result("the same, warm from disk", _seconds(few, options), "s")


def _ask(path: str, options: dict[str, str]) -> None:
    handles.flush()
    assert indextables.open(path, options=options).search(TERM, ["id"], 100_000).num_rows


def _filter(path: str, options: dict[str, str]) -> None:
    handles.flush()
    assert indextables.open(path, options=options).scan(["id"], "level = 'warn'").num_rows


def _requests(
    proxy: Proxy,
    path: str,
    options: dict[str, str],
    ask: Callable[[str, dict[str, str]], None] = _ask,
) -> int:
    proxy.requests.clear()
    ask(path, options)
    return len([request for request in proxy.requests if ".split" in request.path])


def _seconds(path: str, options: dict[str, str]) -> float:
    start = time.perf_counter()
    _ask(path, options)
    return time.perf_counter() - start


if __name__ == "__main__":
    for result in run():
        print(result, flush=True)
