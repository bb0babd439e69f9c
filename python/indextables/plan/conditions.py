"""Conditions of single aggregate functions, such as those of FILTER and count_if, as queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.expr.predicate import searches_in, walk
from indextables.plan.filters import plan_filters

if TYPE_CHECKING:
    from indextables.expr.aggregation import Aggregation
    from indextables.expr.predicate import Predicate
    from indextables.plan.columns import Columns
    from indextables.plan.tree import Tree


def plan_conditions(
    aggregation: Aggregation, columns: Columns, time_zone: str = ""
) -> dict[Predicate, Tree]:
    """The queries of the conditions that the index answers exactly, the same in every split."""
    found: dict[Predicate, Tree] = {}
    for condition in {f.condition for f in aggregation.functions if f.condition is not None}:
        plan = plan_filters([condition], columns, time_zone=time_zone)
        if plan.exact and not searches_in(condition) and not _on_partitions(plan.bound, columns):
            found[condition] = plan.query
    return found


def _on_partitions(bound: tuple[Predicate, ...], columns: Columns) -> bool:
    """Whether a condition depends on a partition value, which only the log has."""
    paths = [getattr(node, "path", ()) for predicate in bound for node in walk(predicate)]
    infos = [columns.at(path) for path in paths]
    return any(info is not None and info.partition for info in infos)
