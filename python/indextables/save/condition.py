"""The condition of an overwrite: which rows it replaces, and whether the new ones belong there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import error
from indextables.expr.evaluate import evaluate
from indextables.log.entries import from_adds
from indextables.plan.partitions import partition_arrays
from indextables.plan.prune import prune_splits
from indextables.plan.queries import split_queries
from indextables.read.rows import DOC, PSEUDO, SPLIT, ReadSpec, count_rows, read_table, sources_of
from indextables.rows.change_rows import positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyroaring import BitMap

    from indextables.config.settings import Settings
    from indextables.log import Log, Snapshot
    from indextables.plan.columns import Columns
    from indextables.plan.filters import FilterPlan
    from indextables.save.splits import WrittenSplit


@dataclass(frozen=True)
class Condition:
    """Filters that the partition values or the index answer exactly; others are refused."""

    filters: FilterPlan
    columns: Columns
    settings: Settings

    def __post_init__(self) -> None:
        if not self.filters.partition_only and not self.filters.exact:
            raise error("OVERWRITE_CONDITION")

    @property
    def whole_splits(self) -> bool:
        """Whether it holds for all rows of a split or for none."""
        return self.filters.partition_only

    def covered(self, table: Snapshot, files: pa.Table) -> pa.Array:
        """The splits it holds for, by their partition values."""
        values = partition_arrays(files, table.schema, table.partition_columns)
        truth = evaluate(self.filters.pruning, values, files.num_rows)
        return pc.fill_null(truth, False)  # noqa: FBT003

    def rows(self, log: Log, table: Snapshot) -> dict[str, BitMap]:
        """The positions of the rows it holds for."""
        names = table.partition_columns
        files, _ = prune_splits(
            table.files(), self.filters.pruning, table.schema, names, self.columns
        )
        spec, query_of = self._spec(log, table, files)
        return positions(read_table(spec, sources_of(files, query_of)))

    def check_rows(self, log: Log, table: Snapshot, splits: Sequence[WrittenSplit]) -> None:
        """Refuse new rows that it does not hold for: the next overwrite would not find them."""
        files = from_adds(split.to_add() for split in splits)
        if self.whole_splits:
            covered = self.covered(table, files).to_pylist()
            counts = [s.num_records if hit else 0 for s, hit in zip(splits, covered, strict=True)]
        else:
            spec, query_of = self._spec(log, table, files)
            counts = [count_rows(spec, [source]) for source in sources_of(files, query_of)]
        outside = sum(split.num_records for split in splits) - sum(counts)
        if outside:
            raise error("OVERWRITE_OUTSIDE", rows=outside)

    def _spec(self, log: Log, table: Snapshot, files: pa.Table) -> tuple[ReadSpec, list[int]]:
        queries, query_of = split_queries(self.filters, files, self.columns)
        spec = ReadSpec(
            place=log.store.native(),
            settings=self.settings,
            table_schema=table.metadata.schema_string,
            partition_columns=table.partition_columns,
            output=pa.schema([pa.field(name, PSEUDO[name]) for name in (SPLIT, DOC)]),
            queries=tuple(queries),
        )
        return spec, query_of
