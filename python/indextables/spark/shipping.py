"""Pickle functions for the executors by reference, so workers need the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables import __version__, _native
from indextables.errors import error
from indextables.spark import same_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def pickled(
    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: dict[str, Any]
) -> bytes:
    """A function over batches with its return schema, pickled as Spark does."""
    from pyspark import cloudpickle
    from pyspark.sql.types import StructType
    from pyspark.worker_util import pickleSer

    # it checks that the package exists, so it is pickled by value
    cloudpickle.register_pickle_by_value(same_versions)
    needed = {"package": __version__, "engine": _native.__version__}
    found = {"host": same_versions.HOST, "found": same_versions.FOUND}
    text = f"indextables {__version__}, engine {_native.__version__}"
    message = str(error("EXECUTOR_MISMATCH", **found, needed=text))
    guarded = same_versions.guarded(pickleSer.dumps(task), needed, message)
    shipped: bytes = pickleSer.dumps((guarded, StructType.fromJson(schema)))
    return shipped


def in_parts(table: pa.Table, most_bytes: int) -> Iterator[pa.Table]:
    """Rows in parts of about this size; none if there are no rows."""
    parts = -(-table.nbytes // most_bytes) or 1
    rows = -(-table.num_rows // parts) or 1
    return (table.slice(first, rows) for first in range(0, table.num_rows, rows))


def to_stream(table: pa.Table) -> bytes:
    """Rows as an Arrow stream for the hooks."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found
