"""The format as a Python data source, which Spark uses without the jar.

It reads and writes the same tables with the same code; Spark offers it only simple filters, and no
search, limits, aggregates or row-level changes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from indextables.save.splits import WriteSpec
    from indextables.spark.read_task import ReadTask
    from indextables.spark.request import Request

WARNING = (
    "indextables: the jar is not loaded, so search, limits, aggregates and row-level changes are "
    "not pushed down; build the session with indextables.configure(builder)"
)


def _request(options: Mapping[str, str], **body: Any) -> Request:
    from indextables.spark.request import Request

    return Request({"properties": dict(options), **body})


def _warn() -> None:
    sys.stderr.write(WARNING + "\n")


class DefaultSource(DataSource):
    """The format `indextables` without the hooks."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "indextables"

    def schema(self) -> StructType:
        """The table's schema, from its log."""
        from pyspark.sql.types import StructType

        from indextables.spark.warm import open_table

        table = open_table(_request(self.options))
        return StructType.fromJson(table.snapshot.schema.to_json())

    def reader(self, schema: StructType) -> PlainReader:
        """Reads whole rows, narrowed by simple filters."""
        _warn()
        return PlainReader(schema, dict(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> PlainWriter:  # noqa: FBT001 (Spark's)
        """Appends to the table, or replaces its rows."""
        _warn()
        return PlainWriter(schema, dict(self.options), overwrite=overwrite)


@dataclass
class _Part(InputPartition):
    """The splits of one task."""

    task: ReadTask
    sources: bytes

    def __init__(self, task: ReadTask, sources: bytes) -> None:
        super().__init__(None)
        self.task = task
        self.sources = sources


class PlainReader(DataSourceReader):
    """Plans like the hooks' scans, always with tasks."""

    def __init__(self, schema: StructType, options: dict[str, str]) -> None:
        self.columns = json.loads(schema.json())
        self.options = options
        self.predicates: list[dict[str, Any]] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's)
        """Take the filters that the index answers exactly, return the rest."""
        from indextables.spark import scan
        from indextables.spark.plain_filters import to_predicate

        for each in filters:
            predicate = to_predicate(each)
            if predicate is not None:
                request = _request(self.options, predicates=[predicate])
                if scan.push(request)["pushed"] == ["exact"]:
                    self.predicates.append(predicate)
                    continue
            yield each

    def partitions(self) -> list[InputPartition]:
        """One partition per task."""
        from indextables.spark.read_task import scan_tasks, work_of
        from indextables.spark.scan import scan_of

        body = {"wire": self.columns, "schema": self.columns, "predicates": self.predicates}
        request = _request(self.options, **body)
        task, tasks = scan_tasks(scan_of(request), request)
        return [_Part(task, work_of(each)) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task's splits."""
        if not isinstance(partition, _Part):
            return iter(())  # a table without splits: Spark creates one empty partition
        return partition.task.read(partition.sources)


@dataclass
class _Message(WriterCommitMessage):
    """A task's report."""

    report: dict[str, Any]


class PlainWriter(DataSourceArrowWriter):
    """Writes like the hooks' writes; rows of a partitioned table are sorted in the task."""

    def __init__(self, schema: StructType, options: dict[str, str], *, overwrite: bool) -> None:
        from indextables.spark import write

        columns = json.loads(schema.json())
        self.body = write.plain_body(_request(options), columns, overwrite=overwrite)
        self.options = options
        self.spec: WriteSpec = write.spec_of(_request(options, **self.body))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        from indextables.save.splits import sorted_by_partition, write_batches

        splits = write_batches(self.spec, sorted_by_partition(self.spec, iterator))
        return _Message({"splits": [split.to_json() for split in splits]})

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit what the tasks wrote."""
        from indextables.spark import write

        write.commit_without_hooks(self._finished(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove what the tasks wrote, unless a commit was attempted."""
        from indextables.spark import write

        write.abort(self._finished(messages))

    def _finished(self, messages: list[WriterCommitMessage | None]) -> Request:
        reports = [m.report if isinstance(m, _Message) else None for m in messages]
        return _request(self.options, **self.body, messages=reports)
