"""Write one split from record batches."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from indextables import _native
from indextables.engine.source import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class ColumnStats:
    """Bounds of a column as JSON values; None if unknown."""

    min: Any
    max: Any
    null_count: int


@dataclass(frozen=True)
class SplitInfo:
    """The facts of a complete split for the log."""

    size: int
    footer_start: int
    footer_end: int
    num_records: int
    uncompressed_size: int
    doc_mapping: list[dict[str, Any]]
    columns: dict[str, ColumnStats]
    # for a companion: the rows of the source that it indexes
    runs: list[Run] = dataclass_field(default_factory=list)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Self:
        """The values the engine returned."""
        columns = {name: ColumnStats(**stats) for name, stats in value["columns"].items()}
        runs = [Run(**run) for run in value["runs"]]
        apart = ("columns", "runs")
        rest = {key: value[key] for key in cls.__dataclass_fields__ if key not in apart}
        return cls(**rest, columns=columns, runs=runs)


class SplitWriter:
    """Record batches in, one split out.

    `fields` holds the settings per column and `options` those of the whole split, in the engine's
    form (docs/spec/SPLIT.md); defaults follow from the column's type and the layout.
    """

    def __init__(
        self,
        schema: pa.Schema,
        fields: Sequence[Mapping[str, Any]] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._native = _native.SplitWriter(schema, fields, options)

    @property
    def rows(self) -> int:
        """Rows written so far."""
        return self._native.rows

    @property
    def memory_bytes(self) -> int:
        """Memory used by rows that are not yet in the file."""
        return self._native.memory_bytes

    @property
    def estimated_bytes(self) -> int:
        """The estimated size of the split if it were finished now."""
        return self._native.estimated_bytes

    def accepts(self, batch: pa.RecordBatch) -> bool:
        """Whether this split accepts the batch; if not, finish it and start another."""
        return self._native.accepts(batch)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        self._native.write(batch)

    def finish(
        self, store: _native.Store, path: str, runs: Sequence[Run] | None = None
    ) -> SplitInfo:
        """Write the split to the store; the writer is empty afterwards.

        `runs` are the source rows that were written to a companion.
        """
        given = None if runs is None else [run.to_json() for run in runs]
        return SplitInfo.of(self._native.finish(store, path, given))

    def abort(self) -> None:
        """Drop all rows and remove the temporary files."""
        self._native.abort()


def check_tokenizer(name: str) -> None:
    """Raise an error unless the engine knows a tokenizer of this name."""
    field = {"name": "text", "role": "text", "tokenizer": name}
    SplitWriter(pa.schema([pa.field("text", pa.string())]), [field], {})
