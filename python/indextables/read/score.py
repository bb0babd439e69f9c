"""The statistics of scores: of the live rows of the whole snapshot, or of each split alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indextables.config import read as keys
from indextables.plan.scores import ScoreStatistics, add_statistics, needs_score
from indextables.read.rows import gather_statistics
from indextables.runtime.cache import Cache

if TYPE_CHECKING:
    from indextables.plan.scan import ScanPlan
    from indextables.read.spec import ReadSpec
    from indextables.read.table import OpenTable


@dataclass(frozen=True)
class _Key:
    """A version of a table, and the queries whose words were counted in it."""

    url: str
    table: str
    version: int
    queries: str


_gathered: Cache[_Key, ScoreStatistics] = Cache(64)


def with_statistics(spec: ReadSpec, plan: ScanPlan, table: OpenTable) -> ReadSpec:
    """A read with table-wide scores, if it returns scores or sorts by them.

    Every live split, pruned or not, counts its live rows that have the words of the query: another
    predicate changes which rows are found, never their scores.
    """
    if table.settings.get(keys.SCORE) != "table" or not needs_score(plan, table.columns):
        return spec
    if len(table.sources) == 1:  # which keeps what it has counted
        return replace(spec, statistics=_gather(spec, table))
    snapshot = table.snapshot
    key = _Key(table.store.url, snapshot.metadata.id, snapshot.version, _text(plan.queries))
    found = _gathered.get_or(key, lambda: _gather(spec, table))
    return replace(spec, statistics=found)


def _gather(spec: ReadSpec, table: OpenTable) -> ScoreStatistics:
    return add_statistics(gather_statistics(spec, table.sources))


def _text(queries: Any) -> str:
    return json.dumps(queries, sort_keys=True, default=str)
