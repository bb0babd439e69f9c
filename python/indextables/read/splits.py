"""Read rows of given splits, by a query or by position."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.engine.query import Query
from indextables.plan.tree import ALL
from indextables.read.rows import search_split, split_of, split_without
from indextables.read.spec import ReadSpec, Source

if TYPE_CHECKING:
    from pyroaring import BitMap

    from indextables.config.settings import Settings
    from indextables.plan.tree import Tree

_BATCH_ROWS = 65_536


@dataclass(frozen=True)
class SplitReader:
    """Reads splits of one table, in the log or not yet in it."""

    # holds credentials of the store: never print it
    place: tuple[str, str] = field(repr=False)
    settings: Settings
    table_schema: str
    partition_columns: tuple[str, ...]

    def search(self, source: Source, output: pa.Schema, query: Tree = ALL) -> pa.Table:
        """The rows of a split that match a query."""
        spec = self._spec(output, query)
        found = search_split(spec, source, split_of(spec, source), {})
        return pa.Table.from_batches(list(found), schema=output)

    def rows_at(self, source: Source, num_rows: int, docs: BitMap, output: pa.Schema) -> pa.Table:
        """These rows of a split, in order: all others count as deleted."""
        spec = self._spec(output, ALL)
        split = split_without(spec, source, docs.flip(0, num_rows))
        return pa.Table.from_batches(list(search_split(spec, source, split, {})), schema=output)

    def _spec(self, output: pa.Schema, query: Tree) -> ReadSpec:
        return ReadSpec(
            place=self.place,
            settings=self.settings,
            table_schema=self.table_schema,
            partition_columns=self.partition_columns,
            output=output,
            queries=(Query(query),),
            batch_rows=_BATCH_ROWS,
        )
