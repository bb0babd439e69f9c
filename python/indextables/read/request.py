"""A request to read a table, from any interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from indextables.expr.aggregation import Aggregation, SortKey
    from indextables.expr.predicate import Predicate
    from indextables.plan.search import Snippet
    from indextables.read.spec import Parts

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True)
class Prewarm:
    """Index parts to load before a split is searched; `where` limits it to some partitions."""

    parts: Parts
    where: Predicate | None = None


@dataclass(frozen=True)
class ScanRequest:
    """One read: rows that all `predicates` hold for, or an aggregation of them.

    `output` are the columns of the rows, with `_split`, `_doc`, `_score` and `_snippet` among those
    that may be named; an aggregation has columns of its own. `here` runs it in this process,
    whatever its size. `snippet` says how `_snippet` is made, where the settings do not.
    `time_zone` and `ansi` are those of the session: they decide how dates are cut and whether sums
    may overflow.
    """

    output: pa.Schema = _NO_COLUMNS
    predicates: tuple[Predicate, ...] = ()
    aggregation: Aggregation | None = None
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    here: bool = False
    time_zone: str = "UTC"
    ansi: bool = True
    prewarm: Prewarm | None = None
    snippet: Snippet | None = None
