"""Search as you type on the page: every keystroke of a few searches, on 2 million local rows."""

from __future__ import annotations

import http.client
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlsplit

import indextables
from benches.report import Result
from indextables.cli.sample import events
from indextables.page.serve import running_site

ROWS = 2_000_000
BAR_MS = 100.0
QUERIES = (
    "timeout AND payment",
    '"connection reset" OR retry',
    "level:ERROR AND request",
    "worker OR cache",
)
PARTS = ("hits.json", "chart.json", "facets.json")


def run() -> list[Result]:
    """Type every query letter by letter; a keystroke is answered when its rows arrive."""
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as folder:
        path = f"{folder}/events"
        options = {"indexing.typemap.message": "text"}
        indextables.write(events(ROWS), path, options=options)
        with running_site([path], {}) as site:
            rows = [_ask(site.url, PARTS[0], text) for text in _keys()]
            rows = [_ask(site.url, PARTS[0], text) for text in _keys()]
            whole = [_ask_all(site.url, text) for text in _keys()]
    return [
        Result(f"rows per keystroke, median of {len(rows)}", statistics.median(rows), "ms", BAR_MS),
        Result("rows per keystroke, 95th percentile", _high(rows), "ms", BAR_MS),
        Result("rows, histogram and filters per keystroke, median", statistics.median(whole), "ms"),
        Result("rows, histogram and filters per keystroke, 95th percentile", _high(whole), "ms"),
    ]


def _keys() -> Iterator[str]:
    for query in QUERIES:
        yield from (query[:end] for end in range(1, len(query) + 1))


def _ask(url: str, part: str, text: str) -> float:
    parts = urlsplit(url)
    start = time.perf_counter()
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    line.request("GET", f"{parts.path}t/0/{part}?q={quote(text)}")
    answer = line.getresponse()
    answer.read()
    line.close()
    if answer.status != http.HTTPStatus.OK:
        raise AssertionError(answer.status)
    return (time.perf_counter() - start) * 1000


def _ask_all(url: str, text: str) -> float:
    start = time.perf_counter()
    with ThreadPoolExecutor(len(PARTS)) as pool:
        list(pool.map(lambda part: _ask(url, part, text), PARTS))
    return (time.perf_counter() - start) * 1000


def _high(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
