"""The condition of an overwrite: which rows it replaces, and whether the new ones belong there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.errors import error
from indextables.expr.evaluate import evaluate
from indextables.log.entries import from_adds
from indextables.model import kernels as pc
from indextables.plan.partitions import partition_arrays
from indextables.read.columns import plan_predicates
from indextables.read.request import ScanRequest
from indextables.read.scan import Scan, count_scan, find_rows, plan_scan
from indextables.read.spec import ROW_ID
from indextables.read.table import OpenTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyroaring import BitMap

    from indextables.config.settings import Settings
    from indextables.expr.predicate import Predicate
    from indextables.log import Log, Snapshot
    from indextables.plan.filters import FilterPlan
    from indextables.save.splits import WrittenSplit


@dataclass(frozen=True)
class Condition:
    """Predicates that the partition values or the index answer exactly; others are rejected."""

    predicates: tuple[Predicate, ...]
    filters: FilterPlan
    settings: Settings
    time_zone: str

    @classmethod
    def of(
        cls, table: OpenTable, predicates: Sequence[Predicate], time_zone: str = "UTC"
    ) -> Condition:
        """The condition of an overwrite of a table."""
        filters = plan_predicates(table, predicates, time_zone)
        if not filters.partition_only and not filters.exact:
            raise error("OVERWRITE_CONDITION")
        return cls(tuple(predicates), filters, table.settings, time_zone)

    @property
    def whole_splits(self) -> bool:
        """Whether it holds for all rows of a split or for none."""
        return self.filters.partition_only

    def covered(self, table: Snapshot, files: pa.Table) -> pa.Array:
        """The splits for which it holds, by their partition values."""
        values = partition_arrays(files, table.schema, table.partition_columns)
        truth = evaluate(self.filters.pruning, values, files.num_rows)
        return pc.fill_null(truth, False)  # noqa: FBT003

    def rows(self, log: Log, table: Snapshot) -> dict[str, BitMap]:
        """The positions of the rows for which it holds."""
        return find_rows(self._scan(log, table))

    def check_rows(self, log: Log, table: Snapshot, splits: Sequence[WrittenSplit]) -> None:
        """Reject new rows for which it does not hold: the next overwrite would not find them."""
        files = from_adds(split.to_add() for split in splits)
        if self.whole_splits:
            covered = self.covered(table, files).to_pylist()
            counts = [s.num_records if hit else 0 for s, hit in zip(splits, covered, strict=True)]
        else:
            counts = [count_scan(self._scan(log, table, files))]
        outside = sum(split.num_records for split in splits) - sum(counts)
        if outside:
            raise error("OVERWRITE_OUTSIDE", rows=outside)

    def _scan(self, log: Log, table: Snapshot, files: pa.Table | None = None) -> Scan:
        request = ScanRequest(ROW_ID, self.predicates, here=True, time_zone=self.time_zone)
        return plan_scan(OpenTable(log, table, self.settings), request, files)
