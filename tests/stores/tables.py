"""Tables of many splits, written without Spark."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from indextables.config.settings import Settings, resolve
from indextables.engine.store import open_store as open_native
from indextables.engine.writer import SplitWriter
from indextables.log import AddFile, Operation, Transaction, open_log
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.fields import plan_fields, remember_fields
from indextables.storage import open_store

SCHEMA = Struct(
    (
        Field("id", Atomic("long")),
        Field("level", Atomic("string")),
        Field("message", Atomic("string")),
        Field("day", Atomic("integer")),
    )
)
INSIDE = Struct(SCHEMA.fields[:-1]).to_arrow_schema()
FIELDS = plan_fields(SCHEMA, resolve({"indexing.typemap.message": "text"}), ("day",))


def rows(start: int, count: int) -> pa.RecordBatch:
    numbers = range(start, start + count)
    return pa.record_batch(
        {
            "id": list(numbers),
            "level": [("info", "warn", "error")[i % 3] for i in numbers],
            "message": [
                f"request {i} of user{i % 97} " + ("timed out" if i % 50 == 0 else "is done")
                for i in numbers
            ],
        },
        schema=INSIDE,
    )


def make_table(url: str, settings: Settings, *, splits: int, each: int = 200) -> str:
    """Make a table with one split for each of `splits` days; ids are consecutive over the days."""
    store = open_store(url, settings)
    log = open_log(store, settings)
    log.create(SCHEMA, ("day",), remember_fields(FIELDS))
    native = open_native(*store.native())

    def write(day: int) -> AddFile:
        writer = SplitWriter(INSIDE, FIELDS)
        writer.write(rows(day * each, each))
        path = f"day={day}/splits/split-{day}.split"
        info = writer.finish(native, path)
        return AddFile(
            path,
            {"day": str(day)},
            info.size,
            1,
            min_values={"id": str(day * each)},
            max_values={"id": str(day * each + each - 1)},
            num_records=info.num_records,
            footer_start_offset=info.footer_start,
            footer_end_offset=info.footer_end,
            has_footer_offsets=True,
            doc_mapping_json=json.dumps(info.doc_mapping),
        )

    with ThreadPoolExecutor(4) as pool:
        added = tuple(pool.map(write, range(splits)))
    log.commit(Transaction(Operation.APPEND, 0, added))
    return store.url
