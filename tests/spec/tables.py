"""Tables for spec files, written without Spark: Arrow rows to splits to one commit."""

from __future__ import annotations

import io
import json
import os
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from indextables.config.settings import Settings
from indextables.engine.store import open_store as open_native
from indextables.engine.writer import SplitWriter
from indextables.log.actions import AddFile
from indextables.log.partitions import split_path
from indextables.log.transaction import Operation, Transaction
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.fields import plan_fields, remember_fields
from indextables.storage.connection import plan_connection, reveal

_NAMES = {"bigint": "long", "int": "integer"}


def schema_of(spec) -> Struct:
    return Struct(tuple(Field(n, Atomic(_NAMES.get(t, t))) for n, t in spec.columns))


def create(log, spec) -> None:
    fields = plan_fields(schema_of(spec), Settings(), spec.partition_columns)
    log.create(schema_of(spec), spec.partition_columns, remember_fields(fields))


def arrow_rows(spec, lines) -> pa.Table:
    schema = schema_of(spec).to_arrow_schema()
    cells = [[None if c.strip() == "\\N" else c.strip() for c in line.split("|")] for line in lines]
    texts = [pa.array([row[i] for row in cells], pa.string()) for i in range(len(schema))]
    return pa.table([t.cast(f.type) for t, f in zip(texts, schema, strict=True)], schema=schema)


def write_parquet(store, path, rows: pa.Table) -> None:
    """Write a file of a source table."""
    content = io.BytesIO()
    pq.write_table(rows, content)
    store.put(path, content.getvalue())


def write_delta(path, settings, rows: pa.Table) -> None:
    """Write another version of a Delta table."""
    found = plan_connection(path, settings, os.environ)
    options = {k: str(v) for k, v in {**reveal(found.config), **reveal(found.client)}.items()}
    write_deltalake(found.address.native, rows, mode="append", storage_options=options)


def append(log, spec, lines) -> None:
    rows = arrow_rows(spec, lines)
    adds = [_split(log, spec, values, part) for values, part in _partitions(spec, rows)]
    version = log.snapshot().version
    log.commit(Transaction(Operation.APPEND, version, tuple(adds)))


def _partitions(spec, rows):
    names = list(spec.partition_columns)
    if not names:
        return [({}, rows)]
    texts = rows.select(names).to_pylist()
    keys = [tuple(None if v is None else str(v) for v in row.values()) for row in texts]
    return [
        (
            {n: v for n, v in zip(names, key, strict=True) if v is not None},
            rows.filter([k == key for k in keys]),
        )
        for key in dict.fromkeys(keys)
    ]


def _split(log, spec, values, rows) -> AddFile:
    inside = rows.drop_columns(list(spec.partition_columns))
    fields = plan_fields(schema_of(spec), Settings(), spec.partition_columns)
    writer = SplitWriter(inside.schema, fields)
    for batch in inside.to_batches():
        writer.write(batch)
    path = split_path(spec.partition_columns, values, str(uuid.uuid4()))
    info = writer.finish(open_native(*log.store.native()), path)
    return AddFile(
        path=path,
        partition_values=values,
        size=info.size,
        modification_time=int(time.time() * 1000),
        num_records=info.num_records,
        footer_start_offset=info.footer_start,
        footer_end_offset=info.footer_end,
        has_footer_offsets=True,
        doc_mapping_json=json.dumps(info.doc_mapping),
        uncompressed_size_bytes=info.uncompressed_size,
    )
