"""Read in the Python workers of executors."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from indextables.read.rows import read_rows
from indextables.read.spec import ReadSpec, Source
from indextables.runtime.handles import follow, orders
from indextables.runtime.process_stats import Fetched, fetched, publish
from indextables.spark.compat import acknowledge_at_once, settle
from indextables.spark.request import executors_of
from indextables.spark.shipping import pickled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from indextables.read.scan import Scan, ScanTask
    from indextables.spark.request import Request


@dataclass(frozen=True)
class ReadTask:
    """Reads the splits that its one input batch names."""

    spec: ReadSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows as batches for Spark's worker."""
        acknowledge_at_once()
        follow(self.spec.orders)
        before = fetched()
        try:
            for batch in batches:
                sources, file = named(batch)
                yield from while_wanted(file, self.read(sources))
                if self.spec.is_remote:
                    _tell_spark(file, fetched() - before)
        finally:
            publish(self.spec.orders.app, profiled=self.spec.orders.profiled)
            settle()

    def read(self, sources: bytes) -> Iterator[pa.RecordBatch]:
        """The rows of the splits in this JSON document."""
        return read_rows(self.spec, [Source.from_json(value) for value in json.loads(sources)])


def named(batch: pa.RecordBatch) -> tuple[bytes, Path]:
    """The input of a task from the hooks (jvm/src/Readers.scala): its splits, and its task file."""
    work, file = (column[0].as_py() for column in batch.columns)
    return work, Path(file)


def while_wanted(file: Path, found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, until the hooks write the stop marker into the file."""
    for batch in found:
        yield batch
        if _has_word(file):
            return


def _has_word(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False  # the file was removed: all rows are needed


def _tell_spark(file: Path, found: Fetched) -> None:
    """Write the metrics of a task to its file, unless the hooks have removed it."""
    with contextlib.suppress(FileNotFoundError), file.open("r+", encoding="utf-8") as sink:
        json.dump(found.metrics(), sink)


def scan_tasks(
    scan: Scan, request: Request, by: Sequence[str] = ()
) -> tuple[ReadTask, list[ScanTask]]:
    """How executors read a scan: the function and its tasks, perhaps by partition."""
    hosts = sorted({e.host for e in executors_of(request)}) if scan.spec.is_remote else []
    tasks = scan.tasks(request.cores, hosts, by)
    return ReadTask(replace(scan.spec, orders=orders(request.app))), tasks


def work_of(task: ScanTask) -> bytes:
    """The input of a task."""
    return json.dumps([asdict(source) for source in task.sources]).encode()


def shipped_scan(
    scan: Scan, request: Request, by: Sequence[str] = ()
) -> tuple[list[bytes], list[ScanTask]]:
    """The pickled function followed by the inputs of the tasks, and the tasks."""
    function, tasks = scan_tasks(scan, request, by)
    return [pickled(function, request.body["wire"]), *map(work_of, tasks)], tasks
