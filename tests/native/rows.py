"""Rows of every type, written by the engine and kept as Python values for comparison."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from indextables import _native
from indextables.engine.source import (
    Run,
    SourceFile,
    SourceSpec,
    open_source,
    read_source,
    source_facts,
)
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

WORDS = ["timeout", "error", "connection", "reset", "by", "peer", "user", "login", "failed"]
NAMES = ["", "a", "ab", "abc", "b%c", "ä", "Zoë", "x_y", "\U0001f600"]
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  a time without a zone

SCHEMA = pa.schema(
    [
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("number", pa.int32()),
        ("big", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("price", pa.decimal128(10, 2)),
        ("huge", pa.decimal128(38, 6)),
        ("name", pa.string()),
        ("message", pa.string()),
        ("blob", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("span", pa.duration("us")),
        ("address", pa.string()),
        ("person", pa.struct([("age", pa.int32()), ("name", pa.string()), ("at", pa.date32())])),
        ("tags", pa.list_(pa.string())),
        ("scores", pa.map_(pa.string(), pa.float64())),
    ]
)
FIELDS = [{"name": "message", "role": "text"}, {"name": "address", "role": "ip"}]


def some_rows(count: int, seed: int = 7, nulls: float = 0.15) -> pa.Table:
    """Rows with few distinct values, so that predicates match, and with extreme values."""
    rnd = random.Random(seed)
    day = dt.date(2024, 1, 1)
    instant = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    floats = [0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), 1e300]

    def value(name: str) -> Any:
        choice = {
            "flag": lambda: rnd.random() < 0.5,
            "tiny": lambda: rnd.choice([-128, 127, 0, 5]),
            "small": lambda: rnd.choice([-32768, 32767, 7]),
            "number": lambda: rnd.choice([-(2**31), 2**31 - 1, rnd.randrange(20)]),
            "big": lambda: rnd.choice([-(2**63), 2**63 - 1, rnd.randrange(20)]),
            "single": lambda: rnd.choice([0.0, -0.0, 0.5, float("nan"), -3.5]),
            "double": lambda: rnd.choice(floats),
            "price": lambda: Decimal(rnd.randrange(-500, 500)) / 100,
            "huge": lambda: Decimal(rnd.choice([10**28, -(10**28), rnd.randrange(50)])),
            "name": lambda: rnd.choice(
                ["", "a", "ab", "abc", "b%c", "ä", "Zoë", "x_y", "\U0001f600"]
            ),
            "message": lambda: " ".join(rnd.choices(WORDS, k=rnd.randrange(6))),
            "blob": lambda: bytes(rnd.randrange(3) for _ in range(rnd.randrange(3))),
            "day": lambda: day + dt.timedelta(days=rnd.randrange(-5, 5)),
            "at": lambda: instant + dt.timedelta(microseconds=rnd.randrange(-3, 3)),
            "local": lambda: EPOCH + dt.timedelta(seconds=rnd.randrange(3)),
            "span": lambda: dt.timedelta(microseconds=rnd.randrange(-2, 3)),
            "address": lambda: rnd.choice(["10.0.0.1", "10.1.2.3", "192.168.0.1", "::1"]),
            "person": lambda: {
                "age": rnd.choice([None, 1, 2, 3]),
                "name": rnd.choice([None, "ann", "bob"]),
                "at": rnd.choice([None, day]),
            },
            "tags": lambda: rnd.choices(["x", "y", None, "z"], k=rnd.randrange(3)),
            "scores": lambda: [(k, rnd.choice([1.0, None])) for k in "ab"[: rnd.randrange(3)]],
        }[name]
        return None if rnd.random() < nulls else choice()

    columns = {name: [value(name) for _ in range(count)] for name in SCHEMA.names}
    return pa.table(columns, schema=SCHEMA)


# `companion` splits index files of the folder `source`; `bare` ones have no fast columns; in
# `outside` ones, every other column is only in the files
LAYOUTS = ["compatible", "lean", "companion", "bare", "outside"]


def write_split(
    folder: Path,
    rows: pa.Table,
    fields: Sequence[Mapping[str, Any]] = FIELDS,
    **options: Any,
) -> tuple[_native.Store, str]:
    """Write one split with these rows; return its store and path."""
    store = open_store(str(folder))
    path = f"{uuid.uuid4()}.split"
    layout = options.get("layout", "compatible")
    named = [field for field in fields if field["name"] in rows.schema.names]
    if layout in ("compatible", "lean"):
        writer = SplitWriter(rows.schema, named, options)
        for batch in rows.to_batches(max_chunksize=1000):
            writer.write(batch)
        writer.finish(store, path)
        return store, path
    schema, kept = rows.schema, dict.fromkeys(rows.schema.names)
    if layout == "outside":
        searched = {field["name"] for field in named}
        kept = {n: None for at, n in enumerate(kept) if at % 2 or n in searched}
        schema = pa.schema([schema.field(name) for name in kept])
    if layout == "bare":
        known = {field["name"]: field for field in named}
        named = [{**known.get(name, {"name": name}), "fast": False} for name in kept]
    writer = SplitWriter(schema, named, {**options, "layout": "companion", "any_value": True})
    source, runs = open_source(source_spec(folder)), []
    for file in write_source(folder / "source", rows):
        facts = source_facts(source, file)
        runs.append(Run(file.path, 0, facts.rows, file.size, None, facts.footer))
        for batch in read_source(source, file, schema, batch_rows=1000):
            writer.write(batch)
    writer.finish(store, path, runs)
    return store, path


def source_spec(folder: Path) -> SourceSpec:
    """Describe the source files that `write_split` has written for companion splits."""
    return SourceSpec((str(folder / "source"), ""))


def write_source(folder: Path, rows: pa.Table, *, files: int = 3) -> list[SourceFile]:
    """Write these rows to Parquet files, with pages and row groups of different sizes."""
    folder.mkdir(exist_ok=True)
    step = -(-len(rows) // files)
    written = []
    for number, start in enumerate(range(0, len(rows), step)):
        path = folder / f"{uuid.uuid4()}.parquet"
        pq.write_table(
            rows.slice(start, step),
            path,
            row_group_size=[100_000, 300, 50][number % 3],
            data_page_size=[1 << 20, 4096, 512][number % 3],
            write_page_index=number % 2 == 0,
            use_dictionary=number != 1,
            store_decimal_as_integer=number == 2,
            compression=["snappy", "zstd", "gzip"][number % 3],
        )
        written.append(SourceFile(path.name, path.stat().st_size))
    return written


def open_rows(folder: Path, rows: pa.Table, deleted: bytes | None = None, **options: Any) -> Split:
    """Open the rows as a split."""
    store, path = write_split(folder, rows, **options)
    return open_again(folder, store, path, rows.schema, deleted)


def open_again(
    folder: Path, store: _native.Store, path: str, schema: pa.Schema, deleted: bytes | None = None
) -> Split:
    """Open a split of `write_split`, with its source if it has one."""
    source = open_source(source_spec(folder)) if (folder / "source").is_dir() else None
    return Split(store, path, None, deleted, schema, source=source)
