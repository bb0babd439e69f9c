"""Writing in the executors' Python workers."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.rows.change_rows import split_delta
from indextables.save.splits import WriteSpec, WrittenSplit, open_sink, write_batches
from indextables.spark.compat import acknowledge_at_once, settle
from indextables.spark.shipping import pickled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyroaring import BitMap

MESSAGE = "message"


@dataclass(frozen=True)
class RowTask:
    """Writes the new rows of a row-level command and reports the positions of the old ones."""

    spec: WriteSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One batch with the report."""
        acknowledge_at_once()
        with open_sink(self.spec) as sink:
            deleted, updated = split_delta(batches, sink.add_rows)
        yield _report(sink.written, deleted=_texts(deleted), updated=_texts(updated))
        settle()


def _texts(bitmaps: Mapping[str, BitMap]) -> dict[str, str]:
    return {path: base64.b64encode(b.serialize()).decode() for path, b in bitmaps.items()}


def _report(splits: list[WrittenSplit], **more: Any) -> pa.RecordBatch:
    report = json.dumps({"splits": [split.to_json() for split in splits], **more}).encode()
    return pa.record_batch([pa.array([report], pa.binary())], names=[MESSAGE])


@dataclass(frozen=True)
class WriteTask:
    """Writes the rows of a task and reports its splits."""

    spec: WriteSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One batch with the report."""
        acknowledge_at_once()
        yield _report(write_batches(self.spec, batches))
        settle()


def pickled_writer(spec: WriteSpec, *, rows: bool = False) -> bytes:
    """The function of a write, or of a row-level command, ready to ship."""
    report = {"name": MESSAGE, "type": "binary", "nullable": True, "metadata": {}}
    task = RowTask(spec) if rows else WriteTask(spec)
    return pickled(task, {"type": "struct", "fields": [report]})
