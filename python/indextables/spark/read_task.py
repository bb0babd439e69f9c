"""Reading in the executors' Python workers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indextables.ops.handles import follow
from indextables.ops.process_stats import Fetched, fetched, publish
from indextables.ops.read import ReadSpec, Source, read_rows
from indextables.spark.compat import acknowledge_at_once, settle
from indextables.spark.shipping import pickled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

# of jvm/src/Metrics.scala
_PROPERTY = "indextables.fetched"


@dataclass(frozen=True)
class ReadTask:
    """Reads the splits that its one input batch names."""

    spec: ReadSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows, as Spark's worker wants them."""
        acknowledge_at_once()
        follow(self.spec.orders)
        before = fetched()
        try:
            for batch in batches:
                yield from self.read(batch.column(0)[0].as_py())
        finally:
            _tell_spark(fetched() - before)
            publish(self.spec.orders.app, profiled=self.spec.orders.profiled)
            settle()

    def read(self, sources: bytes) -> Iterator[pa.RecordBatch]:
        """The rows of the splits named in this JSON text."""
        return read_rows(self.spec, [Source.from_json(value) for value in json.loads(sources)])


def _tell_spark(found: Fetched) -> None:
    """Leave what a task fetched where the hooks look for it, if they do."""
    from pyspark import TaskContext

    task = TaskContext.get()
    file = task.getLocalProperty(_PROPERTY) if task else None
    if file:
        Path(file).write_text(json.dumps(found.metrics()), encoding="utf-8")


def pickled_reader(spec: ReadSpec, wire: dict[str, Any]) -> bytes:
    """The read function, ready to ship."""
    return pickled(ReadTask(spec), wire)
