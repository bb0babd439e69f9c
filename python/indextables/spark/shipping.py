"""Functions on their way to the executors; pickled by reference, so workers need the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def pickled(
    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: dict[str, Any]
) -> bytes:
    """A function over batches with the schema it returns, as Spark ships functions."""
    from pyspark.sql.types import StructType
    from pyspark.worker_util import pickleSer

    shipped: bytes = pickleSer.dumps((task, StructType.fromJson(schema)))
    return shipped


def to_stream(table: pa.Table) -> bytes:
    """Rows as the hooks read them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found
