"""HTML representations of tables in notebooks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables.expr.objects import to_rows
from indextables.plan.hints import Scanned
from indextables.show.notebook import MOST_ROWS, SNIPPET, grid, history_table, hits_table
from indextables.show.values import number, size


class History(list[dict[str, Any]]):
    """Commits, newest first: a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return history_table(self)


@dataclass(frozen=True)
class Explanation:
    """The explanation of a read that has not been done."""

    facts: Mapping[str, str]

    def __str__(self) -> str:
        width = max(map(len, self.facts))
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.facts.items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return grid(("scan", ""), list(self.facts.items()))


def explain(metrics: Mapping[str, int], query: str, order: str, scanned: Scanned) -> Explanation:
    """Describe a plan in words."""
    pruned = metrics["splitsPrunedByPartition"] + metrics["splitsPrunedByStatistics"]
    return Explanation(
        {
            "splits": f"{number(metrics['splitsScanned'])} of {number(metrics['splitsConsidered'])}"
            f" are read, {number(pruned)} are left out by partitions and statistics",
            "rows": f"{number(metrics['rowsScanned'])} in these splits",
            "bytes": f"{size(metrics['bytesScanned'])} in these splits",
            "index": query,
            "scanned": str(scanned) or "none",
            "order": order,
        }
    )


def show_searches() -> None:
    """Make IPython show Arrow tables with snippets as search results."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(pa.Table, _searched)


def _searched(found: pa.Table) -> str | None:
    if SNIPPET not in found.column_names:
        return None
    return hits_table(to_rows(found.slice(0, MOST_ROWS)))
