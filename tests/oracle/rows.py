"""Rows of difficult values, with one column for each type of Spark."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_DAY = dt.date
_TIME = dt.datetime

# Sums of doubles must not depend on the order of rows, so finite values are multiples of 1/4.
POOLS: dict[str, list[Any]] = {
    "flag": [True, False],
    "i8": [-128, -1, 0, 1, 7, 127],
    "i16": [-32768, -5, 0, 5, 300, 32767],
    "i32": [-(2**31), -1000, -1, 0, 1, 42, 2**31 - 1],
    "i64": [-(2**53) - 1, -3, 0, 3, 10, 2**53 + 1, 2**60],
    "f32": [float("nan"), float("-inf"), -1.5, -0.0, 0.0, 0.25, 1e6, float("inf")],
    "f64": [float("nan"), float("-inf"), -2.75, -0.0, 0.0, 0.5, 1048576.25, float("inf")],
    "small": [Decimal("-9999999.99"), Decimal("-0.01"), Decimal("0.00"), Decimal("12.30")],
    "big": [Decimal("-1234567890123456789012.0000000001"), Decimal(0), Decimal("7.5"),
            Decimal("9999999999999999999999999999.9999999999")],
    "word": ["", "a", "A", "ab", "abc", "b%c", "b_c", "back\\slash", "ärger", "日本語", "10", "2",
             "zebra", "a b", "quote'd", "tab\there", "😀 smile", "x" * 40, "x" * 33 + "y"],
    "text": ["timeout waiting for payment", "Connection reset by peer", "connection refused",
             "the payment timed out", "", "reset", "a b c d", "Ärger mit Umlauten", "10.0.0.1 up"],
    "raw": [b"", b"\x00", b"\x00\xff", b"abc", bytes(range(40))],
    "day": [_DAY(1, 1, 1), _DAY(1582, 10, 4), _DAY(1969, 12, 31), _DAY(1970, 1, 1),
            _DAY(2024, 2, 29), _DAY(2026, 1, 1), _DAY(9999, 12, 31)],
    "ts": [_TIME(1969, 12, 31, 23, 59, 59, 999999), _TIME(1970, 1, 1), _TIME(2024, 2, 29, 12),
           _TIME(2024, 2, 29, 12, 0, 0, 1), _TIME(2026, 1, 1, 1, 2, 3, 456789)],
    "ntz": [_TIME(1900, 1, 1), _TIME(1970, 1, 1, 0, 0, 0, 1), _TIME(2024, 3, 31, 2, 30),
            _TIME(9999, 12, 31, 23, 59, 59, 999999)],
}  # fmt: skip

TYPES: dict[str, pa.DataType] = {
    "flag": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
    "f32": pa.float32(), "f64": pa.float64(), "small": pa.decimal128(9, 2),
    "big": pa.decimal128(38, 10), "word": pa.string(), "text": pa.string(), "raw": pa.binary(),
    "day": pa.date32(), "ts": pa.timestamp("us", "UTC"), "ntz": pa.timestamp("us"),
}  # fmt: skip

NESTED: dict[str, pa.DataType] = {
    "person": pa.struct(
        [("age", pa.int32()), ("name", pa.string()),
         ("home", pa.struct([("city", pa.string()), ("lat", pa.float64())]))]
    ),
    "numbers": pa.list_(pa.int64()),
    "words": pa.list_(pa.string()),
    "counts": pa.map_(pa.string(), pa.int32()),
    "deep": pa.list_(pa.struct([("k", pa.string()), ("v", pa.list_(pa.decimal128(10, 3)))])),
}  # fmt: skip


def _maybe(source: random.Random, make: Callable[[], Any], nulls: float = 0.15) -> Any:
    return None if source.random() < nulls else make()


def _nested(source: random.Random, name: str) -> Any:
    pick: Callable[[str], Any] = lambda column: source.choice(POOLS[column])  # noqa: E731
    some: Callable[[Callable[[], Any]], list[Any]] = lambda make: [  # noqa: E731
        _maybe(source, make) for _ in range(source.randrange(4))
    ]
    if name == "person":
        home = _maybe(
            source, lambda: {"city": pick("word"), "lat": _maybe(source, lambda: pick("f64"))}
        )
        return {"age": _maybe(source, lambda: pick("i32")), "name": pick("word"), "home": home}
    if name == "numbers":
        return some(lambda: pick("i64"))
    if name == "words":
        return some(lambda: pick("word"))
    if name == "counts":
        keys = source.sample(["a", "b", "c", "", "ä.b"], source.randrange(4))
        return [(key, _maybe(source, lambda: pick("i32"))) for key in keys]
    return some(lambda: {"k": pick("word"), "v": some(lambda: Decimal("1.125"))})


def table(rows: int, seed: int) -> pa.Table:
    """Rows of every type, with nulls, and an `id` that makes every order total."""
    source = random.Random(seed)
    columns: dict[str, pa.Array] = {"id": pa.array(range(rows), pa.int64())}
    for name, kind in TYPES.items():
        values = [_maybe(source, lambda n=name: source.choice(POOLS[n])) for _ in range(rows)]
        columns[name] = pa.array(values, kind)
    for name, kind in NESTED.items():
        values = [_maybe(source, lambda n=name: _nested(source, n)) for _ in range(rows)]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def write_parquet(path: Path, rows: int, seed: int, files: int = 2) -> None:
    """Write the same rows to a few Parquet files, for the oracle."""
    path.mkdir(parents=True)
    whole = table(rows, seed)
    step = -(-rows // files)
    for number in range(files):
        part = whole.slice(number * step, step)
        pq.write_table(part, path / f"part-{number}.parquet", store_decimal_as_integer=False)
