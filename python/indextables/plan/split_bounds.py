"""Typed partition values and bounds of splits, read from the strings of the log once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from indextables.plan.partitions import typed_partition
from indextables.plan.statistics import Extremes, read_extremes

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    import pyarrow as pa

    from indextables.expr.predicate import Path
    from indextables.model.types import Struct


@dataclass(frozen=True)
class SplitBounds:
    """The values and bounds of some splits, from the log.

    A column is parsed when a predicate first names it and kept for later queries: parsing costs
    more than comparing. `trusted` are the columns whose statistics mean what their type says.
    """

    files: pa.Table
    schema: Struct
    trusted: Container[str]
    _values: dict[str, pa.Array] = field(default_factory=dict, repr=False, compare=False)
    _extremes: dict[str, Extremes | None] = field(default_factory=dict, repr=False, compare=False)

    def of(self, files: pa.Table) -> SplitBounds:
        """The same for other splits."""
        return replace(self, files=files, _values={}, _extremes={})

    def values(self, names: Iterable[str]) -> Mapping[Path, pa.Array]:
        """Partition columns, one value per split."""
        found: dict[Path, pa.Array] = {}
        for name in names:
            column = self.schema.get(name)
            if column is None:
                continue
            if name not in self._values:
                maps = self.files.column("partitionValues")
                self._values[name] = typed_partition(maps, name, column.type)
            found[name,] = self._values[name]
        return found

    def extremes(self, names: Iterable[str]) -> Mapping[Path, Extremes]:
        """Minimum and maximum per split, of the columns that have them."""
        found: dict[Path, Extremes] = {}
        for name in names:
            if name not in self._extremes:
                read = read_extremes(self.files, self.schema, [name], self.trusted)
                self._extremes[name] = read.get((name,))
            extremes = self._extremes[name]
            if extremes is not None:
                found[name,] = extremes
        return found
