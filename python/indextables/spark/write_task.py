"""Writing in the executors' Python workers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.ops.write import WriteSpec, write_batches
from indextables.spark.compat import acknowledge_at_once, settle
from indextables.spark.shipping import pickled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MESSAGE = "message"


@dataclass(frozen=True)
class WriteTask:
    """Writes the rows of a task and reports its splits."""

    spec: WriteSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One batch with the report."""
        acknowledge_at_once()
        splits = write_batches(self.spec, batches)
        report = json.dumps({"splits": [split.to_json() for split in splits]}).encode()
        yield pa.record_batch([pa.array([report], pa.binary())], names=[MESSAGE])
        settle()


def pickled_writer(spec: WriteSpec) -> bytes:
    """The write function, ready to ship."""
    report = {"name": MESSAGE, "type": "binary", "nullable": True, "metadata": {}}
    return pickled(WriteTask(spec), {"type": "struct", "fields": [report]})
