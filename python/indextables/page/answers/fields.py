"""Choose the columns that a search page offers as filters: pure, from columns and a few rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.expr.values import FLOATING, kind_of
from indextables.page.statement import NUMBERS, TIMES

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.plan.columns import ColumnInfo, Columns

_TIME_NAMES = ("ts", "timestamp", "time", "@timestamp", "event_time", "created_at", "date")
# columns with a larger share of distinct values in a sample are names, not categories
_DISTINCT_SHARE = 0.6
_FEW = 12


@dataclass(frozen=True)
class Fields:
    """The filters of a search page: columns with values, with a distribution, with timestamps."""

    values: tuple[str, ...]
    numbers: tuple[str, ...]
    times: tuple[str, ...]
    sortable: tuple[str, ...]

    @property
    def time(self) -> str:
        """The column of the histogram unless another is chosen."""
        return self.times[0] if self.times else ""


def choose_fields(columns: Columns, sample: pa.Table | None) -> Fields:
    """Sort the columns by their use; `sample` is None if no row could be read."""
    usable = [info for info in columns.infos if info.columnar]
    values = [info for info in usable if _has_kinds(info, sample)]
    numbers = [info for info in usable if kind_of(info.type) in NUMBERS and info not in values]
    times = [info.name for info in usable if kind_of(info.type) in TIMES and not info.partition]
    times.sort(key=lambda name: name.lower() not in _TIME_NAMES)
    return Fields(
        tuple(info.name for info in sorted(values, key=_rank)),
        tuple(info.name for info in numbers if not info.partition),
        tuple(times),
        tuple(info.name for info in usable),
    )


def _rank(info: ColumnInfo) -> int:
    if info.partition:
        return 0
    return {"string": 1, "boolean": 2}.get(kind_of(info.type), 3)


def _has_kinds(info: ColumnInfo, sample: pa.Table | None) -> bool:
    kind = kind_of(info.type)
    if kind in FLOATING or kind in ("timestamp", "timestamp_ntz", "binary") or info.role == "ip":
        return False
    if info.partition or kind == "boolean":
        return True
    if kind == "date" or sample is None or sample.num_rows == 0:
        return False
    distinct = len(sample.column(info.name).unique())
    few = distinct <= max(_FEW, sample.num_rows * _DISTINCT_SHARE)
    return few and (kind == "string" or distinct <= 3 * _FEW)
