"""Index files of a source into companion splits, in a task of BUILD INDEXTABLES COMPANION."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indextables.config import write as keys
from indextables.engine.source import Run, expected_facts, open_source, read_source
from indextables.engine.writer import SplitWriter
from indextables.save.splits import SplitSink, WrittenSplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from indextables.engine.source import SourceFile, SourceSpec
    from indextables.engine.writer import SplitInfo
    from indextables.log.actions import AddFile
    from indextables.save.splits import WriteSpec


@dataclass(frozen=True)
class FedSplit(WrittenSplit):
    """A finished companion split, and the rows of the source it indexes."""

    runs: tuple[Run, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON value for the driver."""
        return {**super().to_json(), "runs": [run.to_json() for run in self.runs]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FedSplit:
        """Parse such a value."""
        return cls(**{**value, "runs": tuple(Run.from_json(run) for run in value["runs"])})

    def to_add(self) -> AddFile:
        """The action that makes it part of the companion."""
        paths = list(dict.fromkeys(run.path for run in self.runs))
        runs = [_member(run, paths.index(run.path)) for run in self.runs]
        add = super().to_add()
        return replace(
            add,
            companion_source_files=tuple(paths),
            extra={**add.extra, "companionRuns": runs},
        )


def _member(run: Run, file: int) -> dict[str, Any]:
    """A run in the form of the log: its file is an index into `companionSourceFiles`."""
    member: dict[str, Any] = {"file": file, "row": run.row, "rows": run.rows, "size": run.size}
    return member if run.stamp is None else {**member, "stamp": run.stamp}


def feed_files(
    spec: WriteSpec,
    source: SourceSpec,
    files: Sequence[SourceFile],
    partition_values: Mapping[str, str],
    table: Mapping[str, Any] | None = None,
) -> list[FedSplit]:
    """Index all rows of files of one partition, in their order.

    `table` is the part of the companion's log that each split stores for REPAIR.

    A split that is full, or whose encodings the next rows do not fit, is followed by another one,
    so that the rows of a file may lie in several.
    """
    with FeedSink(spec, source=source, table=table) as sink:
        for file in files:
            sink.add_file(file, dict(partition_values))
    return [_fed(split, sink.runs_of[split.path]) for split in sink.written]


def _fed(split: WrittenSplit, runs: tuple[Run, ...]) -> FedSplit:
    return FedSplit(**vars(split), runs=runs)


@dataclass
class FeedSink(SplitSink):
    """The companion split being written, with the rows that are in it so far."""

    source: SourceSpec = None  # type: ignore[assignment]
    table: Mapping[str, Any] | None = None
    runs_of: dict[str, tuple[Run, ...]] = field(default_factory=dict)
    _runs: list[Run] = field(default_factory=list)
    _at: Run | None = None

    def add_file(self, file: SourceFile, partition_values: dict[str, str]) -> None:
        """Index all rows of a file."""
        native = open_source(self.source)
        facts = expected_facts(native, file)
        self._at = Run(file.path, 0, 0, file.size, file.stamp, facts.footer, facts.rows)
        if not facts.rows and self._writer is not None:
            self._runs.append(self._at)  # indexed, so that it is not read again
        rows = self.spec.settings.get(keys.BATCH_ROWS)
        schema = self.spec.split_schema
        for batch in read_source(native, file, schema, batch_rows=rows):
            self.add_to((partition_values, None), batch)

    def _wrote(self, batch: pa.RecordBatch) -> None:
        """Record the rows that were added to the split."""
        at = self._at
        assert at is not None, "rows without a file"
        last = self._runs[-1] if self._runs else None
        if last is not None and last.path == at.path and last.row + last.rows == at.row:
            self._runs[-1] = replace(last, rows=last.rows + batch.num_rows)
        else:
            self._runs.append(replace(at, rows=batch.num_rows))
        self._at = replace(at, row=at.row + batch.num_rows)

    def _put(self, writer: SplitWriter, path: str) -> SplitInfo:
        runs, self._runs = tuple(self._runs), []
        self.runs_of[path] = runs
        return writer.finish(self._store, path, runs)

    def _begin(self) -> SplitWriter:
        spec = self.spec
        options = {**spec.engine_options, "layout": "companion", "source_table": self.table}
        return SplitWriter(spec.split_schema, self.source.fields(spec.fields), options)
