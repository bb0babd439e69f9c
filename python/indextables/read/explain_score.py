"""Explain the scores of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.expr.objects import to_rows
from indextables.read.rows import explain_row
from indextables.read.scan import run_scan
from indextables.read.spec import DOC, SCORE, SPLIT

if TYPE_CHECKING:
    from indextables.read.scan import Scan

# the columns that a scan must return to explain scores
EXPLAINED = (SPLIT, DOC, SCORE)


def explain_scores(scan: Scan) -> list[dict[str, Any]]:
    """The rows of a scan of `EXPLAINED` columns, each with the parts of its score."""
    rows = run_scan(scan)
    spec, sources = scan.spec, {source.path: source for source in scan.sources}
    explained = []
    for row in to_rows(rows):
        source = sources[row.pop(SPLIT)]
        found = explain_row(spec, source, row.pop(DOC))
        explained.append({"score": row.pop(SCORE), "row": row, "explanation": found})
    return explained
