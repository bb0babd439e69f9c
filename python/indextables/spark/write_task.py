"""Write in the Python workers of executors."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.errors import InvalidError, UnsupportedError, describe, from_description
from indextables.rows.change_rows import split_delta
from indextables.save.splits import WriteSpec, WrittenSplit, open_sink, write_batches
from indextables.spark.compat import acknowledge_at_once, settle
from indextables.spark.shipping import pickled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyroaring import BitMap

MESSAGE = "message"


@dataclass(frozen=True)
class RowTask:
    """Writes the new rows of a row-level command and reports the positions of the old ones."""

    spec: WriteSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One batch with the report."""
        acknowledge_at_once()
        yield _reported(self._write, batches)
        settle()

    def _write(self, batches: Iterable[pa.RecordBatch]) -> dict[str, Any]:
        with open_sink(self.spec) as sink:
            deleted, updated = split_delta(batches, sink.add_rows)
        return _splits(sink.written) | {"deleted": _texts(deleted), "updated": _texts(updated)}


def _reported(
    work: Callable[[Iterator[pa.RecordBatch]], dict[str, Any]], batches: Iterable[pa.RecordBatch]
) -> pa.RecordBatch:
    """The report of a task, or the error of rows that no attempt could write.

    The commit raises the error. If it were raised here, Spark would retry and then show the
    tracebacks of all processes in between.
    """
    rows = iter(batches)
    try:
        report = work(rows)
    except (InvalidError, UnsupportedError) as failure:
        report = {"error": describe(failure)}
        for _ in rows:  # Spark ends a worker that leaves rows unread
            pass
    return pa.record_batch([pa.array([json.dumps(report).encode()], pa.binary())], names=[MESSAGE])


def raise_reported(reports: Iterable[Mapping[str, Any] | None]) -> None:
    """Raise the first error that a task has reported."""
    for report in reports:
        if report is not None and "error" in report:
            raise from_description(report["error"])


def _texts(bitmaps: Mapping[str, BitMap]) -> dict[str, str]:
    return {path: base64.b64encode(b.serialize()).decode() for path, b in bitmaps.items()}


def _splits(splits: list[WrittenSplit]) -> dict[str, Any]:
    return {"splits": [split.to_json() for split in splits]}


@dataclass(frozen=True)
class WriteTask:
    """Writes the rows of a task and reports its splits."""

    spec: WriteSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One batch with the report."""
        acknowledge_at_once()
        yield _reported(lambda rows: _splits(write_batches(self.spec, rows)), batches)
        settle()


def pickled_writer(spec: WriteSpec, *, rows: bool = False) -> bytes:
    """The pickled function of a write or of a row-level command."""
    report = {"name": MESSAGE, "type": "binary", "nullable": True, "metadata": {}}
    task = RowTask(spec) if rows else WriteTask(spec)
    return pickled(task, {"type": "struct", "fields": [report]})
