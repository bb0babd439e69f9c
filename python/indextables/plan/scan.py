"""The plan of one scan: its splits, queries and columns, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.engine.query import Query
from indextables.model import kernels as pc
from indextables.plan.partials import live_rows
from indextables.runtime.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.plan.aggregates import AggregatePlan
    from indextables.plan.columns import Columns
    from indextables.plan.filters import FilterPlan
    from indextables.plan.prune import PruneCounters
    from indextables.plan.topk import Order
    from indextables.plan.tree import Tree


# Spark's own assumptions about the size of a row and of a string
_ROW_BYTES = 8
_TEXT_BYTES = 20
# its decimals of so many digits are longs
_LONG_BYTES, _LONG_DIGITS = 8, 18


@dataclass(frozen=True)
class ScanPlan:
    """All decisions of a scan. `query_of` has the index in `queries` for each split of `files`."""

    files: pa.Table
    schema: pa.Schema
    filters: FilterPlan
    queries: tuple[Tree, ...]
    query_of: tuple[int, ...]
    counters: PruneCounters
    aggregate: AggregatePlan | None = None
    limit: int | None = None
    order: Order | None = field(default=None)
    # bytes of the values of a whole row of the table, as `width_of` estimates them
    whole_width: int | None = None

    @lazy
    def bytes(self) -> int:
        """Size of the remaining splits."""
        return int(pc.sum(self.files.column("size")).as_py() or 0)

    @lazy
    def rows_read(self) -> int | None:
        """Live rows of the remaining splits, if the log records them."""
        found = live_rows(self.files)
        return None if found is None else int(pc.sum(found, min_count=0).as_py() or 0)

    @property
    def rows(self) -> int | None:
        """The maximum number of rows that the scan returns, if known."""
        if self.aggregate is not None and not self.aggregate.keys:
            return max(1, int(self.files.num_rows))
        most = self.rows_read
        return most if self.limit is None or most is None else min(most, self.limit)

    @property
    def output_bytes(self) -> int:
        """The estimated size of the result, which decides how Spark joins it.

        That of the rows in memory, or the share of their columns in the splits if it is less:
        Spark estimates tables of files by this share, and users know its limits that way.
        """
        rows, schema = self.rows, self.schema if self.aggregate is None else self.aggregate.schema
        if rows is None:
            return self.bytes
        in_memory = rows * (_ROW_BYTES + width_of(schema))
        if self.aggregate is not None or not self.whole_width:
            return in_memory
        return min(in_memory, self.bytes * max(1, width_of(schema)) // self.whole_width)

    @property
    def answered_by_log(self) -> bool:
        """Whether no split need be opened: the log knows rows and partition values."""
        return (
            self.aggregate is not None
            and self.aggregate.from_log
            and self.filters.partition_only
            and not self.files.column("numRecords").null_count
        )


def width_of(schema: pa.Schema) -> int:
    """Bytes of the values of a row as Spark estimates them: strings by a typical length."""
    return sum(_width(field.type) for field in schema)


def _width(kind: pa.DataType) -> int:
    if pa.types.is_struct(kind):
        return sum(_width(field.type) for field in kind)
    if pa.types.is_map(kind):
        return _width(kind.key_type) + _width(kind.item_type)
    if pa.types.is_list(kind):
        return _width(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _TEXT_BYTES
    if pa.types.is_decimal(kind):
        return _LONG_BYTES if kind.precision <= _LONG_DIGITS else 2 * _LONG_BYTES
    return -(-kind.bit_width // 8) if kind != pa.null() else 1


# opening a split takes as long as reading this much
_OPENING_BYTES = 256 << 10
# a value of a column, or the position of a match in the index
_VALUE_BYTES = 8
# every row may be a group of its own, which comes back as a row of the answer
_KEY_BYTES = 64


def touched_bytes(plan: ScanPlan, columns: Columns) -> int:
    """The estimated bytes read to find, aggregate or sort the rows, without the rows themselves."""
    opening: int = plan.files.num_rows * _OPENING_BYTES
    rows = _rows_of(plan.files)
    leaves = [leaf for query in plan.queries for leaf in leaves_of(query)]
    fields = [*_fields(plan.aggregate.request if plan.aggregate else {}), *_fields(plan.order)]
    known = all(leaf["type"] in _LIGHT or has_index(leaf, columns) for leaf in leaves)
    if rows is None or not known or not all(_columnar(field, columns) for field in fields):
        return opening + plan.bytes
    keys = plan.aggregate.keys if plan.aggregate else 0
    per_row = (len(leaves) + len(fields)) * _VALUE_BYTES + keys * _KEY_BYTES
    return opening + min(plan.bytes, int(rows) * per_row)


PATTERNS = frozenset({"contains", "prefix", "suffix", "like", "regex", "trigrams"})
_LIGHT = {"term", "set", "range", "prefix", "search", "exists"}


def leaves_of(query: Tree) -> list[Tree]:
    """The conditions that a query is made of."""
    if query["type"] in ("and", "or"):
        return [leaf for arg in query["args"] for leaf in leaves_of(arg)]
    if query["type"] == "not":
        return leaves_of(query["arg"])
    return [] if query["type"] in ("all", "none") else [query]


def _fields(value: object) -> list[str]:
    """The fields that an aggregation or an order names, at any depth."""
    if isinstance(value, Mapping):
        own = [value["field"]] if isinstance(value.get("field"), str) else []
        return [*own, *(name for part in value.values() for name in _fields(part))]
    if isinstance(value, list | tuple):
        return [name for part in value for name in _fields(part)]
    return []


def _columnar(field: str, columns: Columns) -> bool:
    info = columns.at((field,))
    return info is not None and info.columnar


def answers_itself(
    plan: ScanPlan,
    columns: Columns,
    *,
    max_bytes: int,
    max_rows: int,
    count: Callable[[], int] | None = None,
) -> bool:
    """Whether the planner answers a scan without a Spark job.

    What is read must be small and the result bounded: an aggregate, a limit, few rows in total,
    or a query of the index that finds few. `count` says how many it finds; without it, only a
    condition on one whole value counts as few.
    """
    if plan.answered_by_log or not plan.files.num_rows:
        return True
    if touched_bytes(plan, columns) > max_bytes:
        return False
    if plan.aggregate is not None or plan.limit is not None:
        return plan.aggregate is not None or (plan.limit or 0) <= max_rows
    rows = _rows_of(plan.files)
    if rows is None and count is not None:
        return count() <= max_rows
    return (rows is not None and rows <= max_rows) or _finds_few(plan, columns, max_rows, count)


def finds_by_index(plan: ScanPlan, columns: Columns, *, max_bytes: int) -> bool:
    """Whether rows are found without looking at every one, by reading little."""
    is_light = touched_bytes(plan, columns) <= max_bytes
    return is_light and all(_by_index(query, columns) for query in plan.queries)


def _rows_of(files: pa.Table) -> int | None:
    """Rows of all splits; None if some split, or a pending file, does not record them."""
    rows = files.column("numRecords")
    return None if rows.null_count else int(pc.sum(rows, min_count=0).as_py())


def _finds_few(
    plan: ScanPlan, columns: Columns, max_rows: int, count: Callable[[], int] | None
) -> bool:
    if not all(_by_index(query, columns) for query in plan.queries):
        return False
    return count() <= max_rows if count else all(_selective(query) for query in plan.queries)


_INDEXED = {"none", "term", "set", "range", "prefix", "search"}


def has_index(leaf: Tree, columns: Columns) -> bool:
    """Whether a pattern is looked for among the rows that have its trigrams."""
    if leaf["type"] not in PATTERNS:
        return False
    info = columns.get(leaf["field"])
    return info is not None and info.trigrams and Query(leaf).has_trigrams


def _by_index(query: Tree, columns: Columns) -> bool:
    """Whether the matches of a query are found without looking at every row."""
    if query["type"] in ("and", "or"):
        some = any if query["type"] == "and" else all
        return some(_by_index(arg, columns) for arg in query["args"])
    return query["type"] in _INDEXED or has_index(query, columns)


def _selective(query: Tree) -> bool:
    """Whether a query names whole values, so that few rows are likely."""
    if query["type"] == "and":
        return any(_selective(arg) for arg in query["args"])
    return query["type"] == "none" or (
        query["type"] == "term" and not isinstance(query["value"], bool)
    )
