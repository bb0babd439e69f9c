"""The statistics of scores: of the live rows of the whole snapshot, or of each split alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indextables.config import read as keys
from indextables.plan.scores import ScoreStatistics, add_statistics, needs_score
from indextables.read.rows import gather_statistics
from indextables.read.spec import sources_of
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
    snapshot = table.snapshot
    key = _Key(table.store.url, snapshot.metadata.id, snapshot.version, _text(plan.queries))

    def gather() -> ScoreStatistics:
        files = snapshot.files()
        sources = sources_of(files, [0] * files.num_rows)
        return add_statistics(gather_statistics(spec, sources))

    return replace(spec, statistics=_gathered.get_or(key, gather))


def _text(queries: Any) -> str:
    return json.dumps(queries, sort_keys=True, default=str)
