"""Scores of a table: when they are needed, and the statistics they are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.expr.predicate import searches_in
from indextables.plan.topk import SCORE

if TYPE_CHECKING:
    from indextables.plan.columns import Columns
    from indextables.plan.scan import ScanPlan


@dataclass(frozen=True)
class ScoreStatistics:
    """The statistics of a table's live rows that BM25 needs.

    `tokens` is the total number of tokens by column; `terms` is the number of rows with a word, by
    column and word.
    """

    rows: int
    tokens: Mapping[str, int]
    terms: Mapping[str, Mapping[str, int]]

    def as_option(self) -> dict[str, Any]:
        """The engine's option of this name."""
        return {"rows": self.rows, "tokens": self.tokens, "terms": self.terms}


def add_statistics(splits: Iterable[Mapping[str, Any]]) -> ScoreStatistics:
    """The statistics of a table from those of its splits."""
    rows = 0
    tokens: dict[str, int] = {}
    terms: dict[str, dict[str, int]] = {}
    for split in splits:
        rows += split["rows"]
        _add(tokens, split["tokens"])
        for field, words in split["terms"].items():
            _add(terms.setdefault(field, {}), words)
    return ScoreStatistics(rows, tokens, terms)


def _add(total: dict[str, int], numbers: Mapping[str, int]) -> None:
    for name, number in numbers.items():
        total[name] = total.get(name, 0) + number


def needs_score(plan: ScanPlan, columns: Columns) -> bool:
    """Whether a scan returns scores of a search or sorts by them."""
    if columns.get(SCORE) is not None or plan.aggregate is not None:
        return False
    ordered = plan.order == "score" or any(key["field"] == SCORE for key in _keys(plan))
    wanted = ordered or plan.schema.get_field_index(SCORE) >= 0
    return wanted and any(searches_in(predicate) for predicate in plan.filters.bound)


def _keys(plan: ScanPlan) -> list[dict[str, Any]]:
    return plan.order if isinstance(plan.order, list) else []
