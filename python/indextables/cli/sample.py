"""Sample log events of a small web shop, for the demo, the guides and the benchmarks.

The same seed produces the same rows on every machine. Rows are generated column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from indextables.model import kernels as pc

_START_US = 1_767_225_600_000_000  # 2026-01-01 00:00:00 UTC
_DAY_US = 86_400_000_000

SERVICES = ("checkout", "search", "payment", "catalog", "login", "shipping", "mail", "gateway")
LEVELS = ("INFO", "DEBUG", "WARN", "ERROR", "FATAL")
_LEVEL_ODDS = (0.62, 0.20, 0.11, 0.065, 0.005)
_ADJECTIVES = (
    "primary", "replica", "stale", "cold", "warm", "shared", "remote", "local", "nightly",
    "partial", "signed", "pending", "expired", "forwarded", "throttled", "idle",
)  # fmt: skip
_NOUNS = (
    "session", "cart", "invoice", "coupon", "cursor", "shard", "lease", "bucket", "queue",
    "template", "worker", "socket", "token", "pool", "index", "batch", "region", "tenant",
)  # fmt: skip
_VERBS = ("opened", "closed", "renewed", "evicted", "merged", "queued", "resolved", "copied")

Column: TypeAlias = pa.Array | pa.ChunkedArray
_Message: TypeAlias = Callable[["_Words", int], list[Column | str]]


class _Words:
    """A seeded generator of text columns."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def pick(self, choices: tuple[str, ...], rows: int) -> Column:
        return pa.array(choices).take(pa.array(self.random.integers(0, len(choices), rows)))

    def number(self, low: int, high: int, rows: int) -> Column:
        return pa.array(self.random.integers(low, high, rows)).cast(pa.string())

    def ip(self, rows: int) -> Column:
        parts = [pa.scalar("10"), *(self.number(0, 256, rows) for _ in range(3)), pa.scalar(".")]
        return pc.binary_join_element_wise(*parts)

    def trace(self, rows: int) -> Column:
        """Return request ids that are rare enough for a search to find one or two rows."""
        left, right = self.number(10_000, 99_999, rows), self.number(10_000, 99_999, rows)
        return pc.binary_join_element_wise(pa.scalar("req"), left, right, pa.scalar("-"))


def _request(w: _Words, n: int) -> list[Column | str]:
    return [
        "request", w.trace(n), "from", w.ip(n), "for", w.pick(_ADJECTIVES, n), w.pick(_NOUNS, n),
        "completed after", w.number(1, 900, n), "ms with", w.number(1, 40, n), "rows and",
        w.number(0, 4, n), "retries,", w.pick(_NOUNS, n), w.pick(_VERBS, n), "by worker",
        w.number(1, 64, n),
    ]  # fmt: skip


def _timeout(w: _Words, n: int) -> list[Column | str]:
    return [
        "timeout waiting for", w.pick(SERVICES, n), w.pick(_NOUNS, n), "of request", w.trace(n),
        "after", w.number(1000, 30_000, n), "ms, attempt", w.number(1, 6, n), "of 5, the",
        w.pick(_ADJECTIVES, n), w.pick(_NOUNS, n), "was", w.pick(_VERBS, n), "and will be retried",
    ]  # fmt: skip


def _reset(w: _Words, n: int) -> list[Column | str]:
    return [
        "connection reset by peer while reading", w.pick(_ADJECTIVES, n), w.pick(_NOUNS, n),
        "from", w.ip(n), "port", w.number(1024, 65_535, n), "for request", w.trace(n),
        "backing off", w.number(10, 900, n), "ms before the next attempt",
    ]  # fmt: skip


def _cache(w: _Words, n: int) -> list[Column | str]:
    return [
        "cache", w.pick(("hit", "miss", "refresh"), n), "for", w.pick(_ADJECTIVES, n),
        w.pick(_NOUNS, n), "key", w.trace(n), "in region", w.number(1, 9, n), "with",
        w.number(1, 5000, n), "entries of", w.pick(SERVICES, n), w.pick(_VERBS, n), "in",
        w.number(1, 30, n), "ms",
    ]  # fmt: skip


def _payment(w: _Words, n: int) -> list[Column | str]:
    return [
        "payment", w.trace(n), "of", w.number(1, 2000, n), "euro", w.pick(_VERBS, n), "by the",
        w.pick(_ADJECTIVES, n), "provider, fraud score", w.number(0, 100, n), "invoice",
        w.number(100_000, 999_999, n), "sent to customer", w.number(1, 50_000, n), "by mail",
    ]  # fmt: skip


_MESSAGES: tuple[_Message, ...] = (_request, _cache, _payment, _timeout, _reset)
_MESSAGE_ODDS = (0.55, 0.25, 0.14, 0.045, 0.015)


def _messages(words: _Words, rows: int) -> Column:
    kinds = words.random.choice(len(_MESSAGES), rows, p=_MESSAGE_ODDS)
    order = np.argsort(kinds, kind="stable")
    texts = []
    for kind, message in enumerate(_MESSAGES):
        count = int((kinds == kind).sum())
        parts = [pa.scalar(p) if isinstance(p, str) else p for p in message(words, count)]
        texts.append(pc.binary_join_element_wise(*parts, pa.scalar(" ")))
    places = np.empty(rows, np.int64)
    places[order] = np.arange(rows)
    return pa.chunked_array(texts, pa.string()).combine_chunks().take(pa.array(places))


def events(rows: int, seed: int = 7, first_id: int = 0) -> pa.Table:
    """Generate `rows` log events in timestamp order."""
    words = _Words(seed)
    random = words.random
    times = np.sort(random.integers(0, _DAY_US, rows)) + _START_US
    level = random.choice(len(LEVELS), rows, p=_LEVEL_ODDS)
    status = np.where(level >= LEVELS.index("ERROR"), random.choice([500, 502, 503, 504], rows),
                      random.choice([200, 201, 204, 301, 404], rows))  # fmt: skip
    hosts = tuple(f"node-{n:03d}.eu-{n % 3}" for n in range(200))
    return pa.table(
        {
            "id": pa.array(np.arange(first_id, first_id + rows, dtype=np.int64)),
            "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
            "level": pa.array(LEVELS).take(pa.array(level)),
            "service": words.pick(SERVICES, rows),
            "host": words.pick(hosts, rows),
            "status": pa.array(status.astype(np.int32)),
            "latency_ms": pa.array(np.round(random.gamma(2.0, 40.0, rows), 3)),
            "message": _messages(words, rows),
        }
    )
